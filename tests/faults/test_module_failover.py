"""A primary with the module hands over to a replica without it, under load: scripts go on with jobs in every state."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import cast

import pytest

from echomq.carriers.module import COMMANDS
from echomq.drivers.blocking import BlockingClient
from echomq.errors import ReadOnly
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.resp.reply import ErrorReply
from tests.faults.load import Load
from tests.harness.wire import Wire
from tests.module.fuzz_server import wait_for_link
from tests.module.waiters import Asked, await_blocked
from tests.servers import RealServer, built_module, valkey_server

STEPS = 1200
POLLS = 200_000
EVERY_STATE = {"pending", "active", "scheduled", "dead", "lanes"}


@contextmanager
def pair() -> Iterator[tuple[RealServer, RealServer]]:
    """A primary that has the module, and a replica that has not."""
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with (
        valkey_server("--loadmodule", module, "--repl-diskless-sync-delay", "0", tcp=True) as primary,
        valkey_server("--replicaof", f"127.0.0.1 {primary.port}", tcp=True) as replica,
        Wire(replica.unix_path) as wire,
    ):
        wait_for_link(wire)
        yield primary, replica


def catch_up(primary: Wire) -> None:
    """Wait until the replica has everything: the server goes by the last write of this very connection."""
    assert primary.ask("INCR", "{emq}:joined")
    assert primary.ask("WAIT", 1, 20_000) == 1


def unlike(one: Wire, other: Wire) -> list[bytes]:
    """Return the keys that differ, but for what expires: one server may have forgotten it and the other not."""
    keys: set[bytes] = {*cast("list[bytes]", one.ask("KEYS", "*")), *cast("list[bytes]", other.ask("KEYS", "*"))}
    values = [[wire.ask("DEBUG", "DIGEST-VALUE", key) for key in keys] for wire in (one, other)]
    lasting = [one.ask("PTTL", key) in (-1, -2) and other.ask("PTTL", key) in (-1, -2) for key in keys]
    return [key for key, one, other, lasts in zip(keys, *values, lasting, strict=True) if lasts and one != other]


def role(wire: Wire) -> bytes:
    return cast("list[bytes]", wire.ask("ROLE"))[0]


def states(wire: Wire, keys: QueueKeys) -> set[str]:
    """Return in which states there are jobs."""
    sets = {"pending": keys.pending, "active": keys.active, "scheduled": keys.schedule, "dead": keys.dead}
    found = {name for name, key in sets.items() if wire.ask("ZCARD", key)}
    return found | ({"lanes"} if wire.ask("ZCARD", keys.lanes) else set())


def go_on(load: Load) -> None:
    """Go on until the server lets nobody."""
    for _ in range(POLLS):
        load.step()


@pytest.mark.parametrize("seed", range(2))
def test_a_failover_under_load_loses_no_job_and_doubles_none(keys: QueueKeys, seed: int) -> None:
    with ExitStack() as stack:
        primary, replica = stack.enter_context(pair())
        old, new, idle = (stack.enter_context(Wire(s.unix_path)) for s in (primary, replica, primary))
        client = stack.enter_context(BlockingClient(ConnectionOptions(url=primary.url)))
        load = Load(client, keys, Random(seed))
        load.begin(old)
        for number in range(STEPS):
            load.step()
            if number % 200 == 199:
                catch_up(old)
                assert unlike(new, old) == [], f"the replica differs after {number} steps"
        stats = cast("bytes", old.ask("INFO", "commandstats")).decode().lower()
        assert all(f"cmdstat_emq.{name}:" in stats for name in COMMANDS), "a command was not used"
        idle.send([Asked(block_ms=60_000).words(QueueKeys("idle"))])
        await_blocked(old, 1)

        while states(old, keys) != EVERY_STATE:
            load.step()
        assert old.ask("FAILOVER") == b"OK"
        with pytest.raises(ReadOnly):
            go_on(load)
        reply = idle.receive()
        assert isinstance(reply, ErrorReply)
        assert reply.word == "UNBLOCKED"
        assert any(role(new) == b"master" for _ in range(POLLS))

        load.client = stack.enter_context(BlockingClient(ConnectionOptions(url=replica.url)))
        for _ in range(200):
            load.step()
        assert "emq." not in cast("bytes", new.ask("INFO", "commandstats")).decode().lower()
        load.finish()
        assert load.completed.keys() == load.admitted
        assert set(load.completed.values()) == {1}
        assert new.ask("HGET", keys.metrics_completed, "count") == b"%d" % len(load.admitted)
        assert states(new, keys) == set()
        assert not cast("list[bytes]", new.ask("KEYS", keys.base + b"job:*[^t]"))
