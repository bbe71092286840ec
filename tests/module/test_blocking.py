"""EMQ.TAKE … BLOCK (docs/wire.md): whoever finds nothing waits on the server, and what makes jobs servable wakes it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import cast

import pytest

from echomq.carriers.lua import LuaCarrier
from echomq.carriers.module import ModuleCarrier
from echomq.drivers.blocking import BlockingClient
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.resp.reply import Reply
from echomq.transitions.enqueue import enqueue
from echomq.transitions.genqueue import genqueue
from tests.harness.jobs import J1, RED
from tests.harness.wire import Wire
from tests.module.waiters import Asked, Waiter, await_blocked, take_words
from tests.servers import RealServer


@pytest.fixture
def wire(module_server: RealServer) -> Iterator[Wire]:
    with Wire(module_server.unix_path) as wire:
        yield wire


@pytest.fixture(autouse=True)
def _clean(wire: Wire) -> Iterator[None]:
    yield
    wire.ask("FLUSHALL")


@contextmanager
def waiting(server: RealServer, wire: Wire, keys: QueueKeys, asked: Asked | None = None) -> Iterator[Waiter]:
    """A caller that waits."""
    with closing(Waiter(server.unix_path)) as waiter:
        waiter.ask(keys, asked)
        await_blocked(wire, 1)
        yield waiter


def plain_zadd(wire: Wire, keys: QueueKeys) -> None:
    """Admission by a speaker that leaves no token."""
    wire.ask("HSET", keys.job(J1), "state", "pending", "attempts", 0, "payload", "x")
    wire.ask("ZADD", keys.pending, 0, J1)


@pytest.fixture(params=[ModuleCarrier, LuaCarrier])
def speaker(module_server: RealServer, request: pytest.FixtureRequest) -> Iterator[BlockingClient]:
    """Who makes jobs ready: by the module's commands, and by the scripts."""
    with BlockingClient(ConnectionOptions(url=module_server.url), new_carrier=request.param) as client:
        yield client


def is_leased(wire: Wire, keys: QueueKeys) -> None:
    seconds, micros = cast("list[bytes]", wire.ask("TIME"))
    now_ms = int(seconds) * 1000 + int(micros) // 1000
    assert now_ms + 50_000 < float(cast("bytes", wire.ask("ZSCORE", keys.active, J1))) <= now_ms + 60_000


@pytest.mark.parametrize("group", ["", RED])
def test_a_job_that_is_admitted_is_taken_by_whoever_waits(
    module_server: RealServer, wire: Wire, keys: QueueKeys, speaker: BlockingClient, group: str
) -> None:
    with waiting(module_server, wire, keys) as waiter:
        speaker.run(genqueue(keys, J1, b"x", lane=group) if group else enqueue(keys, J1, b"x"))
        *told, waited = cast("list[Reply]", waiter.answer())
    assert told == [b"taken", 0, 0, 0, [], [[J1, b"x", 1, group.encode()]]]
    assert 0 <= cast("int", waited) < 30_000
    is_leased(wire, keys)


def test_a_job_of_another_speaker_is_taken_by_whoever_waits(
    module_server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    with waiting(module_server, wire, keys) as waiter:
        plain_zadd(wire, keys)
        assert waiter.jobs() == [J1]
    is_leased(wire, keys)


def test_the_time_is_over(module_server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(module_server, wire, keys, Asked(block_ms=50)) as waiter:
        *told, waited = cast("list[Reply]", waiter.answer())
    assert told == [b"empty", 0, 0, 0, [], []]
    assert 50 <= cast("int", waited) < 5_000


def test_without_block_nothing_changes(wire: Wire, keys: QueueKeys) -> None:
    assert wire.ask(*take_words(keys, 1000, 1, "", "", 777)) == [b"empty", 0, 0, 777, [], []]
