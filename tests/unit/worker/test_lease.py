"""The lease thread, with a client that answers as it is told."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from echomq.drivers.blocking import BlockingClient
from echomq.errors import Closed, Disconnected, EchoMQError
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import NotExtended
from echomq.transitions.call import Call
from echomq.worker.hold import Hold, Holds
from echomq.worker.lease import LeaseKeeper
from echomq.worker.options import WorkerOptions
from tests.unit.worker.parts import HandClock, hold, jid, until

LEASE_MS = 900


class Client:
    """Extends everything but `refused`, or raises `trouble`."""

    def __init__(self) -> None:
        self.refused: tuple[JobId, ...] = ()
        self.trouble: EchoMQError | None = None
        self.calls = 0
        self.threads: set[str] = set()
        self.is_closed = False

    def run(self, call: Call[NotExtended], *, reply_timeout_ms: int) -> NotExtended:
        assert reply_timeout_ms <= LEASE_MS // 3
        if call.transition.name == "is_paused":
            return NotExtended(())  # only warms the connection
        self.calls += 1
        self.threads.add(threading.current_thread().name)
        if self.trouble is not None:
            raise self.trouble
        return NotExtended(self.refused)

    def close(self) -> None:
        self.is_closed = True


class Bench:
    def __init__(self) -> None:
        self.client = Client()
        self.clock = HandClock()
        self.holds = Holds()
        self.lost: list[Hold] = []
        self.errors = 0
        self.keeper = LeaseKeeper(
            QueueKeys("q"),
            self.holds,
            WorkerOptions(lease_ms=LEASE_MS),
            clock=self.clock,
            new_client=lambda: cast("BlockingClient", self.client),
            on_lost=self.lost.append,
            on_error=self._failed,
        )

    def _failed(self) -> None:
        self.errors += 1

    def hold(self, number: int = 1) -> Hold:
        made = hold(number, deadline_ms=self.clock.now_ms + LEASE_MS)
        self.holds.add([made])
        return made

    def a_third_passes(self) -> None:
        """Let a third of a lease pass, by when a renewal is due. How long the thread takes to see it costs nothing."""
        self.clock.now_ms += LEASE_MS // 3

    async def end(self) -> None:
        self.keeper.stop()
        assert await self.keeper.ended(within_ms=60_000)


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name == "echomq-lease":
            thread.join(10)
            assert not thread.is_alive()


async def test_leases_are_renewed_before_they_end_and_nobody_is_lost() -> None:
    bench = Bench()
    held = bench.hold()
    bench.keeper.start()
    for _ in range(6):
        bench.a_third_passes()
        await until(lambda: held.deadline_ms == bench.clock.now_ms + LEASE_MS)
    await bench.end()
    assert not bench.lost
    assert bench.client.threads == {"echomq-lease"}
    assert bench.client.is_closed


async def test_nothing_held_costs_no_call() -> None:
    bench = Bench()
    bench.keeper.start()
    held = bench.hold()
    bench.holds.drop([held])
    renewed = bench.hold(2)
    deadline_ms = renewed.deadline_ms
    bench.a_third_passes()
    await until(lambda: renewed.deadline_ms > deadline_ms)
    assert held.deadline_ms <= deadline_ms
    await bench.end()


async def test_a_refused_renewal_is_a_lost_lease() -> None:
    bench = Bench()
    bench.client.refused = (jid(1),)
    held, other = bench.hold(1), bench.hold(2)
    bench.keeper.start()
    bench.a_third_passes()
    await until(lambda: bench.lost == [held])
    assert held.lost is not None
    assert "refused" in held.lost
    assert other.lost is None
    await bench.end()


async def test_a_refused_renewal_of_an_ended_attempt_is_nothing() -> None:
    bench = Bench()
    bench.client.refused = (jid(1),)
    held = bench.hold(1)
    held.is_ended = True
    bench.keeper.start()
    bench.a_third_passes()
    await until(lambda: bench.client.calls >= 2)
    await bench.end()
    assert held.lost is None
    assert not bench.lost


async def test_a_lease_that_cannot_be_renewed_is_lost_at_its_deadline() -> None:
    bench = Bench()
    bench.client.trouble = Disconnected("no link")
    held = bench.hold()
    bench.keeper.start()
    bench.a_third_passes()
    await until(lambda: bench.errors > 0)
    assert not bench.lost
    bench.clock.now_ms = held.deadline_ms
    await until(lambda: bench.lost == [held])
    assert held.lost is not None
    assert "ran out" in held.lost
    assert bench.errors > 0
    await bench.end()


async def test_an_outage_shorter_than_the_lease_loses_nothing() -> None:
    bench = Bench()
    bench.client.trouble = Disconnected("no link")
    held = bench.hold()
    first_deadline_ms = held.deadline_ms
    bench.keeper.start()
    bench.a_third_passes()
    await until(lambda: bench.errors > 0)
    bench.client.trouble = None
    await until(lambda: held.deadline_ms > first_deadline_ms)
    await bench.end()
    assert not bench.lost


async def test_a_client_closed_for_good_takes_the_keeper_down() -> None:
    bench = Bench()
    bench.client.trouble = Closed("closed")
    bench.hold()
    bench.keeper.start()
    bench.a_third_passes()
    async with asyncio.timeout(60):
        assert isinstance(await bench.keeper.crash(), Closed)


async def test_a_blocked_loop_is_warned_about_with_job_lag_and_place(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    held = bench.hold()
    held.task = asyncio.current_task()  # whatever runs now is the culprit
    bench.hold(2)
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.keeper.start()
        bench.a_third_passes()
        await until(lambda: held.deadline_ms == bench.clock.now_ms + LEASE_MS)
        for _ in range(9):  # three leases pass while the loop does not turn, and the thread renews all the same
            bench.a_third_passes()
            _block_until(lambda: held.deadline_ms == bench.clock.now_ms + LEASE_MS)
        await until(lambda: "turns again" in caplog.text)
    assert f"{held.job} attempt 1, now at {__file__}" in caplog.text
    assert not bench.lost
    await bench.end()


def _block_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline_s:
        time.sleep(0.001)
