"""The parts together, on a queue whose clock is in the test's hand."""

import asyncio
import logging
from collections.abc import Sequence
from typing import cast

import pytest

from echomq.app import EchoMQ
from echomq.errors import Closed, Disconnected, EchoMQError
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import (
    Claimed,
    Completed,
    Completion,
    NotExtended,
    PromotedMany,
    Reaped,
    Released,
    Taken,
    Token,
)
from echomq.worker import Run, StopReport, Worker, WorkerOptions
from tests.unit.worker.parts import FakeParking, FixedDice, HandClock, claimed, jid, until

LEASE_MS = 60_000


class Queue:
    """A queue of jobs that are ready, and the application around it."""

    queue = "q"
    keys = QueueKeys("q")

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.ready: list[Claimed] = []
        self.answers_take_ms = 0
        self.released: list[JobId] = []
        self.parkings: list[FakeParking] = []
        self.woke: list[tuple[int, str | None]] = []
        self.completed: list[JobId] = []
        self.trouble: EchoMQError | None = None
        self.asks = 0
        self.gate = asyncio.Event()
        self.gate.set()

    def jobs(self, _queue: str) -> "Queue":
        return self

    def new_blocking_client(self) -> "Queue":
        return self

    def run(self, _call: object, *, reply_timeout_ms: int) -> NotExtended:
        return NotExtended(())

    def close(self) -> None: ...

    async def new_parking(self, _queue: str) -> FakeParking:
        self.parkings.append(FakeParking())
        return self.parkings[-1]

    async def wake(self, *, worth: int, watcher: str | None) -> bool:
        self.woke.append((worth, watcher))
        return False

    async def take(self, *, lease_ms: int, size: int, worth: bytes, watcher: str, park_ms: int) -> Taken:
        self.asks += 1
        await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        jobs, self.ready = tuple(self.ready[:size]), self.ready[size:]
        self.clock.now_ms += self.answers_take_ms
        return Taken(jobs, more=bool(self.ready), full=False, due=False, wait_ms=park_ms)

    async def complete_many(self, items: Sequence[Completion]) -> list[Completed]:
        if self.trouble is not None:
            raise self.trouble
        self.completed += [item.job for item in items]
        return [Completed(item.job) for item in items]

    async def release(self, job: JobId, token: Token) -> Released:
        if self.trouble is not None:
            raise self.trouble
        self.released.append(job)
        return Released(job)

    async def reap(self, *, limit: int, max_attempts: int) -> Reaped:
        return Reaped((), (), (), more=False)

    async def promote(self, *, limit: int) -> PromotedMany:
        return PromotedMany(0, more=False)


class Bench:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.queue = Queue(self.clock)
        self.runs: list[Run] = []
        self.go_on = asyncio.Event()
        self.worker = Worker(
            cast("EchoMQ", self.queue),
            "q",
            self._handle,
            options=WorkerOptions(lease_ms=LEASE_MS, cancel_ms=200, beat_ms=1),
            clock=self.clock,
            dice=FixedDice(0.0),
        )

    async def _handle(self, run: Run) -> None:
        self.runs.append(run)
        await self.go_on.wait()


async def test_jobs_whose_claim_was_answered_after_their_lease_are_handed_back_unrun(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    bench.queue.ready = [claimed(1), claimed(2)]
    bench.queue.answers_take_ms = LEASE_MS
    task = asyncio.ensure_future(bench.worker.run())
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        await until(lambda: len(bench.queue.released) == 2)
    bench.worker.stop()
    await task
    assert not bench.runs
    assert "the answer came after their lease" in caplog.text
    assert bench.worker.counts.released == 2


async def test_jobs_of_an_ask_that_is_answered_during_the_stop_are_handed_back_unrun() -> None:
    bench = Bench()
    bench.queue.ready = [claimed(1), claimed(2)]
    bench.queue.gate.clear()
    task = asyncio.ensure_future(bench.worker.run())
    await until(lambda: bench.queue.asks == 1)
    bench.worker.stop()
    await asyncio.sleep(0)
    bench.queue.gate.set()
    assert await task == StopReport(handed_back=(jid(1), jid(2)))
    assert not bench.runs


async def test_an_ending_that_cannot_be_told_before_the_end_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.queue.ready = [claimed(1)]
    task = asyncio.ensure_future(bench.worker.run())
    await until(lambda: len(bench.runs) == 1)
    bench.queue.trouble = Disconnected("no link")
    with caplog.at_level(logging.ERROR, "echomq.worker"):
        bench.go_on.set()
        bench.worker.stop()
        assert await task == StopReport(abandoned=(jid(1),))
    assert str(jid(1)) in caplog.text


async def test_a_result_that_comes_after_the_deadline_is_refused_here() -> None:
    bench = Bench()
    bench.queue.ready = [claimed(1)]
    task = asyncio.ensure_future(bench.worker.run())
    await until(lambda: len(bench.runs) == 1)
    bench.clock.now_ms += LEASE_MS
    bench.go_on.set()
    await until(lambda: bench.worker.counts.lost == 1)
    bench.worker.stop()
    await task
    assert bench.queue.completed == []


async def test_a_crash_hands_back_and_is_raised() -> None:
    bench = Bench()
    bench.queue.ready = [claimed(1)]
    task = asyncio.ensure_future(bench.worker.run())
    await until(lambda: len(bench.runs) == 1)
    bench.queue.trouble = Closed("closed")
    bench.queue.parkings[0].end()
    async with asyncio.timeout(60):
        with pytest.raises(Closed):
            await task
    assert bench.worker.running == 0


async def test_a_bug_in_a_loop_is_raised_and_running_jobs_are_handed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.queue.ready = [claimed(1)]
    task = asyncio.ensure_future(bench.worker.run())
    await until(lambda: len(bench.runs) == 1)

    async def bug(**_: object) -> Taken:
        raise ZeroDivisionError

    monkeypatch.setattr(bench.queue, "take", bug)
    bench.queue.parkings[0].end()
    async with asyncio.timeout(60):
        with pytest.raises(ZeroDivisionError):
            await task
    assert bench.queue.released == [jid(1)]
