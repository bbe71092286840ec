"""What a healthy server with the module told, to be changed by each test in the one thing that it is about."""

from dataclasses import replace
from pathlib import Path

from echomq.carriers.module import COMMANDS
from echomq.doctor.rights_asked import RIGHTS
from echomq.doctor.told import LoadedModule, OwnModule, Place, Right, Rights, Told
from echomq.drivers.address import parse_address

__all__ = ["HEALTHY", "PLAIN", "at", "granted", "informed", "set_to", "without"]

SO = Path("/usr/lib/echomq/emq.so")

HEALTHY = Told(
    place=Place(name="valkey://app@10.0.0.5:6379/0", address=parse_address("valkey://app:s3cret@10.0.0.5:6379/0")),
    resp=3,
    version=b"echomq:2.4.2",
    accepted_versions=("echomq:2.*",),
    is_accepted=True,
    round_trip_ms=0.1234,
    clock_ahead_ms=-3,
    hello={"server": "valkey", "version": "9.1.2", "proto": "3", "mode": "standalone", "role": "master"},
    loaded=LoadedModule(version=1, path="/srv/emq.so"),
    own=OwnModule(path=SO, system="Linux x86_64"),
    info={
        "valkey_version": "9.1.2",
        "os": "Linux 6.1.0 x86_64",
        "connected_clients": "7",
        "maxclients": "10000",
        "rejected_connections": "0",
        "maxmemory": "0",
        "maxmemory_policy": "noeviction",
        "used_memory": "900000",
        "evicted_keys": "0",
        "aof_enabled": "1",
        "aof_last_write_status": "ok",
        "rdb_last_bgsave_status": "ok",
        "role": "master",
        "connected_slaves": "1",
    },
    config={
        "appendfsync": "everysec",
        "echomq.blocking": "yes",
        "enable-module-command": "no",
        "notify-keyspace-events": "",
        "save": "",
    },
    cluster={},
    rights=Rights(
        queue="mail",
        commands=dict.fromkeys((*RIGHTS, *(f"emq.{name}" for name in COMMANDS)), Right.GRANTED),
        keys=Right.GRANTED,
        deployment=Right.GRANTED,
    ),
    refused=(),
)
PLAIN = replace(HEALTHY, loaded=None)
"""The same server without the module."""


def informed(told: Told = HEALTHY, **figures: str) -> Told:
    """Return it with other figures of INFO."""
    return replace(told, info={**told.info, **figures})


def set_to(told: Told = HEALTHY, **settings: str) -> Told:
    """Return it with other settings; `_` stands for `-`."""
    return replace(told, config={**told.config, **{name.replace("_", "-"): value for name, value in settings.items()}})


def without(told: Told, *names: str) -> Told:
    """Return it without these settings and figures."""
    return replace(
        told,
        config={name: value for name, value in told.config.items() if name not in names},
        info={name: value for name, value in told.info.items() if name not in names},
    )


def granted(told: Told = HEALTHY, *, all_but: tuple[str, ...] = (), instead: Right = Right.DENIED) -> Told:
    """Return it with these commands not granted."""
    commands = {name: instead if name in all_but else right for name, right in told.rights.commands.items()}
    return replace(told, rights=replace(told.rights, commands=commands))


def at(url: str, told: Told = HEALTHY) -> Told:
    """Return it at another address."""
    address = parse_address(url)
    return replace(told, place=Place(name=str(address), address=address))
