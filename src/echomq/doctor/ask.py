"""Asks a server for all that the findings need. Nothing is changed, and no question needs an administrator.

A question that is refused is remembered and left out.
"""

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Final

from echomq.doctor.questions import Questions, Sender, lines_of, pairs_of, text_of, texts_of
from echomq.doctor.rights_asked import rights_of
from echomq.doctor.told import LoadedModule, OwnModule, Place, Told
from echomq.embedded.module import module_path
from echomq.keys import VERSION
from echomq.options import ConnectionOptions
from echomq.resp.reply import Reply

__all__ = ["CONFIG", "examine"]

CONFIG: Final = ("appendfsync", "echomq.blocking", "enable-module-command", "notify-keyspace-events", "save")
"""The settings that INFO does not tell."""

_SECTIONS: Final = ("server", "clients", "memory", "persistence", "stats", "replication")

_ROUND_TRIPS: Final = 7


def examine(sender: Sender, place: Place, *, queue: str, now_s: Callable[[], float] = time.time) -> Told:
    """Ask a server for all that the findings need. `now_s` is this machine's clock, in Unix seconds.

    `queue` is the one whose keys the rights are asked about; nothing of it is read. Raises what losing the connection
    raises; a refusal is no reason to stop.
    """
    ask = Questions(sender)
    hello = pairs_of(ask.ask("HELLO", "HELLO"))
    version = ask.ask("GET", "GET", VERSION)
    return Told(
        place=place,
        resp=3 if hello.get("proto") == 3 else 2,
        version=version if isinstance(version, bytes) else None,
        accepted_versions=ConnectionOptions().accepted_versions,
        is_accepted=isinstance(version, bytes) and ConnectionOptions().accepts(version),
        round_trip_ms=_round_trip_ms(ask),
        clock_ahead_ms=_clock_ahead_ms(ask, now_s),
        hello=texts_of(hello),
        loaded=_loaded(hello),
        own=OwnModule(path=module_path(), system=f"{platform.system()} {platform.machine()}"),
        info=_info(ask),
        config=_config(ask),
        cluster=lines_of(ask.ask("CLUSTER INFO", "CLUSTER", "INFO")) if hello.get("mode") == b"cluster" else {},
        rights=rights_of(ask, queue),
        refused=tuple(ask.refused),
    )


def _round_trip_ms(ask: Questions) -> float:
    """Return what an exchange takes: the median of some, since the first may find caches cold."""
    taken: list[float] = []
    for _ in range(_ROUND_TRIPS):
        start = time.perf_counter()
        ask.ask("GET", "GET", VERSION)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def _clock_ahead_ms(ask: Questions, now_s: Callable[[], float]) -> int | None:
    """Return by how much the server's clock is ahead of ours, as in the middle of the exchange."""
    before = now_s()
    reply = ask.ask("TIME", "TIME")
    middle = (before + now_s()) / 2
    match reply:
        case [bytes(seconds), bytes(micros)]:
            return round((int(seconds) + int(micros) / 1e6 - middle) * 1000)
        case _:
            return None


def _loaded(hello: Mapping[str, Reply]) -> LoadedModule | None:
    """Return our module among those that HELLO tells of."""
    modules = hello.get("modules")
    for module in modules if isinstance(modules, list) else ():
        facts = pairs_of(module)
        version, path = facts.get("ver"), facts.get("path")
        if facts.get("name") == b"echomq" and isinstance(version, int):
            return LoadedModule(version=version, path=text_of(path) if isinstance(path, bytes) else None)
    return None


def _info(ask: Questions) -> dict[str, str]:
    found: dict[str, str] = {}
    for section in _SECTIONS:
        found |= lines_of(ask.ask("INFO", "INFO", section))
    return found


def _config(ask: Questions) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in CONFIG:
        found |= texts_of(pairs_of(ask.ask("CONFIG GET", "CONFIG", "GET", name)))
    return found
