"""Fetching from a queue that answers as it is told."""

import asyncio
import logging
from collections.abc import Sequence
from typing import cast

import pytest

from echomq.errors import Closed, Disconnected, EchoMQError, Unknown
from echomq.jobs import Jobs
from echomq.records import ClaimedMany, Paused
from echomq.worker.counts import WorkerCounts
from echomq.worker.fetch import Fetch
from echomq.worker.hold import Hold
from echomq.worker.options import WorkerOptions
from tests.unit.worker.parts import FixedDice, HandClock, claimed, jid, until


class Queue:
    """Answers each ask with as many jobs as `ready` and `size` allow, or with the next of `instead`."""

    queue = "q"

    def __init__(self, ready: int) -> None:
        self.ready = ready
        self.sizes: list[int] = []
        self.instead: list[EchoMQError | Paused | ClaimedMany] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def claim_many(self, *, lease_ms: int, size: int) -> ClaimedMany | Paused:
        self.sizes.append(size)
        await self.gate.wait()
        if self.instead:
            answer = self.instead.pop(0)
            if isinstance(answer, EchoMQError):
                raise answer
            return answer
        count = min(self.ready, size)
        self.ready -= count
        return ClaimedMany(tuple(claimed(self.ready + n) for n in range(count)), self.ready)


class Bench:
    def __init__(self, *, ready: int, slots: int, gather_ms: int = 3_600_000, beat_ms: int = 3_600_000) -> None:
        self.queue = Queue(ready)
        self.slots = slots
        self.running = 0
        self.counts = WorkerCounts()
        self.claimed: list[Hold] = []
        self.fetch = Fetch(
            cast("Jobs", self.queue),
            WorkerOptions(concurrency=slots, gather_ms=gather_ms, beat_ms=beat_ms, lease_ms=5_000),
            self.counts,
            clock=HandClock(1_000),
            dice=FixedDice(0.0),
            free=lambda: self.slots - self.running,
            on_claimed=self._on_claimed,
        )

    def _on_claimed(self, holds: Sequence[Hold]) -> None:
        self.running += len(holds)
        self.claimed += holds

    def free(self, count: int) -> None:
        for _ in range(count):
            self.running -= 1
            self.fetch.freed(is_last=self.running == 0)

    async def settle_down(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def end(self) -> None:
        self.fetch.stop()
        assert await self.fetch.ended(within_ms=60_000)


async def test_one_ask_is_for_all_free_slots() -> None:
    bench = Bench(ready=1_000, slots=40)
    bench.fetch.start()
    await bench.settle_down()
    assert bench.queue.sizes == [40]
    assert bench.counts.claimed == 40
    assert {hold.deadline_ms for hold in bench.claimed} == {6_000}
    await bench.end()


async def test_under_load_it_asks_when_a_quarter_is_free_and_not_for_each_slot() -> None:
    bench = Bench(ready=1_000, slots=40)
    bench.fetch.start()
    await bench.settle_down()
    bench.free(9)
    await bench.settle_down()
    assert bench.queue.sizes == [40]
    bench.free(1)
    await bench.settle_down()
    assert bench.queue.sizes == [40, 10]
    await bench.end()


async def test_slots_that_become_free_during_an_ask_wait_for_company_too() -> None:
    bench = Bench(ready=1_000, slots=40)
    bench.fetch.start()
    await bench.settle_down()
    bench.queue.gate.clear()
    bench.free(10)
    await bench.settle_down()
    bench.free(1)
    bench.queue.gate.set()
    await bench.settle_down()
    assert bench.queue.sizes == [40, 10]
    await bench.end()


async def test_it_asks_when_nothing_is_running() -> None:
    bench = Bench(ready=3, slots=40, beat_ms=1)
    bench.fetch.start()
    await until(lambda: bench.counts.claimed == 3)
    bench.queue.ready = 5
    bench.free(3)
    await until(lambda: bench.counts.claimed == 8)
    await bench.end()


async def test_a_free_slot_beside_long_jobs_does_not_stay_empty() -> None:
    bench = Bench(ready=1_000, slots=40, gather_ms=1)
    bench.fetch.start()
    await bench.settle_down()
    bench.free(1)
    await until(lambda: bench.queue.sizes == [40, 1])
    await bench.end()


async def test_it_goes_on_at_once_while_the_server_has_more() -> None:
    bench = Bench(ready=0, slots=4)
    bench.queue.instead = [ClaimedMany((), 7), ClaimedMany((claimed(1),), 6), ClaimedMany((), 0)]
    bench.fetch.start()
    await until(lambda: bench.queue.sizes == [4, 4, 3])
    await bench.end()


async def test_a_wake_ends_the_wait_of_an_idle_worker() -> None:
    bench = Bench(ready=0, slots=4)
    bench.fetch.start()
    await bench.settle_down()
    bench.queue.ready = 2
    bench.fetch.idle.wake()
    await until(lambda: bench.counts.claimed == 2)
    await bench.end()


async def test_a_paused_queue_is_asked_again_after_a_beat() -> None:
    bench = Bench(ready=1, slots=1, beat_ms=1)
    bench.queue.instead = [Paused(), Paused()]
    bench.fetch.start()
    await until(lambda: bench.counts.claimed == 1)
    assert bench.queue.sizes == [1, 1, 1]
    await bench.end()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Disconnected("no link"), "is tried again"),
        (Unknown("claim_many of q", repeatable=False, reason="the link was lost"), "lease of 5000 ms"),
    ],
)
async def test_a_failed_ask_is_logged_and_tried_again(
    error: EchoMQError, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(ready=1, slots=1)
    bench.queue.instead = [error, error]
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.fetch.start()
        await until(lambda: bench.counts.claimed == 1)
    assert bench.counts.errors == 2
    assert words in caplog.text
    await bench.end()


async def test_a_client_closed_for_good_ends_the_loop_with_its_error() -> None:
    bench = Bench(ready=1, slots=1)
    bench.queue.instead = [Closed("closed")]
    bench.fetch.start()
    async with asyncio.timeout(60):
        assert isinstance(await bench.fetch.crash(), Closed)


async def test_broken_rows_are_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ready=0, slots=1)
    bench.queue.instead = [ClaimedMany((), 0, (jid(5), jid(6)))]
    with caplog.at_level(logging.ERROR, "echomq.worker"):
        bench.fetch.start()
        await until(lambda: bench.counts.broken == 2)
    assert str(jid(5)) in caplog.text
    await bench.end()


async def test_a_stop_waits_for_the_ask_on_its_way_and_passes_its_jobs_on() -> None:
    bench = Bench(ready=2, slots=2)
    bench.queue.gate.clear()
    bench.fetch.start()
    await until(lambda: bench.queue.sizes == [2])
    bench.fetch.stop()
    bench.queue.gate.set()
    assert await bench.fetch.ended(within_ms=60_000)
    assert len(bench.claimed) == 2
    assert bench.queue.sizes == [2]
