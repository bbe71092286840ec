"""Settling against a queue that answers as it is told."""

import asyncio
import logging
from collections.abc import Sequence
from typing import cast

import pytest

from echomq.errors import Disconnected, EchoMQError, PayloadTooLarge, ReadOnly, ServerError, Unknown, WrongType
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import Broken, Completed, Completion, Dead, Gone, Released, Scheduled, Stale, Token
from echomq.worker.counts import WorkerCounts
from echomq.worker.hold import Holds
from echomq.worker.ledger import Answer, Ending, Ledger
from echomq.worker.options import WorkerOptions
from echomq.worker.settle import BATCH_BYTES_MAX, Settle
from echomq.worker.verdict import Release, Retry
from tests.unit.worker.parts import FixedDice, HandClock, hold, jid, until

Batch = list[Completed | Gone | Stale | Broken]


class Queue:
    """What settle sees of a queue. `troubles` are raised first, one for each call."""

    queue = "q"

    def __init__(self) -> None:
        self.batches: list[list[JobId]] = []
        self.reports: list[str] = []
        self.troubles: list[EchoMQError] = []
        self.damaged: dict[JobId, EchoMQError] = {}
        self.answer: type[Completed | Gone | Stale | Broken] = Completed
        self.fails_as: type[Scheduled | Dead | Stale] = Scheduled
        self.gate = asyncio.Event()
        self.gate.set()

    async def complete_many(self, items: Sequence[Completion]) -> Batch:
        self.batches.append([item.job for item in items])
        await self.gate.wait()
        if any(item.result == b"too large" for item in items):
            raise PayloadTooLarge("result", 9, 1)
        self._trouble(*(item.job for item in items))
        return [self.answer(item.job) for item in items]

    async def retry(
        self, job: JobId, token: Token, *, delay_ms: int, max_attempts: int, error: str
    ) -> Scheduled | Dead | Stale:
        self.reports.append(f"retry {error}")
        self._trouble(job)
        return self.fails_as(job)

    async def release(self, job: JobId, token: Token) -> Released:
        self.reports.append("release")
        self._trouble(job)
        return Released(job)

    def _trouble(self, *jobs: JobId) -> None:
        if self.troubles:
            raise self.troubles.pop(0)
        for job in jobs:
            if job in self.damaged:
                raise self.damaged[job]


class Bench:
    def __init__(self, *, gather_ms: int = 0) -> None:
        self.queue = Queue()
        self.counts = WorkerCounts()
        self.clock = HandClock()
        self.holds = Holds()
        self.is_last = False
        self.told: list[tuple[JobId, Answer | None]] = []
        self.scheduled: list[int] = []
        ledger = Ledger(
            "q",
            self.holds,
            self.counts,
            on_settled=lambda ending, answer: self.told.append((ending.hold.job, answer)),
            on_scheduled=self.scheduled.append,
        )
        self.settle = Settle(
            cast("Jobs", self.queue),
            ledger,
            WorkerOptions(gather_ms=gather_ms),
            clock=self.clock,
            dice=FixedDice(0.0),
            is_last=lambda: self.is_last,
        )

    def add(self, number: int, what: Retry | Release | None = None, *, result: bytes | None = None) -> Ending:
        held = hold(number)
        self.holds.add([held])
        ending = Ending(held, Completion(held.job, held.token, result) if what is None else what)
        self.settle.add(ending)
        return ending

    async def end(self) -> None:
        self.settle.stop()
        assert await self.settle.ended(within_ms=60_000)


FAILED = Retry(100, 3, "boom\nline two")


async def test_endings_of_one_turn_are_one_batch() -> None:
    bench = Bench()
    bench.settle.start()
    endings = [bench.add(n) for n in range(50)]
    await bench.end()
    assert bench.queue.batches == [[ending.hold.job for ending in endings]]
    assert bench.counts.completed == 50
    assert len(bench.holds) == 0


async def test_endings_that_come_while_a_batch_is_on_its_way_are_the_next_batch() -> None:
    bench = Bench()
    bench.queue.gate.clear()
    bench.settle.start()
    bench.add(1)
    await until(lambda: bool(bench.queue.batches))
    for n in range(2, 9):
        bench.add(n)
    assert bench.settle.waiting == 8
    bench.queue.gate.set()
    await bench.end()
    assert [len(batch) for batch in bench.queue.batches] == [1, 7]


async def test_the_last_running_job_is_not_kept_waiting_for_company() -> None:
    bench = Bench(gather_ms=3_600_000)
    bench.settle.start()
    bench.add(1)
    bench.is_last = True
    bench.add(2)
    await until(lambda: bench.counts.completed == 2)
    assert [len(batch) for batch in bench.queue.batches] == [2]
    await bench.end()


async def test_a_batch_is_bounded_in_jobs_and_in_bytes() -> None:
    bench = Bench()
    bench.settle.start()
    for n in range(2_500):
        bench.add(n)
    for n in range(2_500, 2_503):
        bench.add(n, result=b"x" * (BATCH_BYTES_MAX // 2 + 1))
    await bench.end()
    assert [len(batch) for batch in bench.queue.batches] == [1000, 1000, 501, 1, 1]


async def test_failures_and_hand_backs_go_beside_completions() -> None:
    bench = Bench()
    bench.settle.start()
    bench.add(1)
    bench.add(2, FAILED)
    bench.add(3, Release())
    await bench.end()
    assert bench.queue.reports == ["retry boom\nline two", "release"]
    assert bench.scheduled == [100]
    assert (bench.counts.completed, bench.counts.retried, bench.counts.released) == (1, 1, 1)


@pytest.mark.parametrize(("answer", "count"), [(Stale, "stale"), (Gone, "stale"), (Broken, "broken")])
async def test_a_refused_ending_is_counted_logged_and_told(
    answer: type[Stale] | type[Gone] | type[Broken], count: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    bench.queue.answer = answer
    bench.settle.start()
    ending = bench.add(1)
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        await bench.end()
    assert getattr(bench.counts, count) == 1
    assert bench.counts.completed == 0
    assert bench.told == [(ending.hold.job, answer(ending.hold.job))]
    (record,) = caplog.records
    assert f"{ending.hold.job} attempt 1" in record.getMessage()
    assert "queue q" in record.getMessage()


async def test_the_last_failure_is_dead_and_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.queue.fails_as = Dead
    bench.settle.start()
    bench.add(1, FAILED)
    with caplog.at_level(logging.INFO, "echomq.worker"):
        await bench.end()
    assert bench.counts.dead == 1
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "boom" in record.getMessage()
    assert "line two" not in record.getMessage()


async def test_what_was_not_sent_is_sent_again_and_counts_once() -> None:
    bench = Bench()
    bench.queue.troubles = [Disconnected("no link"), Disconnected("no link")]
    bench.settle.start()
    bench.add(1)
    await bench.end()
    assert len(bench.queue.batches) == 3
    assert (bench.counts.completed, bench.counts.errors) == (1, 2)


async def test_a_repeat_that_is_refused_after_a_lost_answer_is_unconfirmed(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.queue.answer = Gone
    bench.queue.troubles = [Unknown("complete_many of q", repeatable=True, reason="the link was lost")]
    bench.settle.start()
    bench.add(1)
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        await bench.end()
    assert (bench.counts.unconfirmed, bench.counts.stale) == (1, 0)
    assert "unconfirmed" in caplog.text


async def test_only_the_failed_part_of_a_batch_is_sent_again() -> None:
    bench = Bench()
    bench.settle.start()
    bench.queue.troubles = [Disconnected("no link")]  # meets the completions, which go first
    bench.add(1)
    bench.add(2, Release())
    await bench.end()
    assert len(bench.queue.batches) == 2
    assert bench.queue.reports == ["release"]
    assert (bench.counts.completed, bench.counts.released) == (1, 1)


async def test_an_ending_is_given_up_when_its_lease_must_have_lapsed(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.settle.start()
    ending = bench.add(1)
    ending.hold.deadline_ms = bench.clock.now_ms
    kept = bench.add(2)
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        await bench.end()
    assert bench.queue.batches == [[kept.hold.job]]
    assert (bench.counts.lost, bench.counts.completed) == (1, 1)
    assert (ending.hold.job, None) in bench.told
    assert str(ending.hold.job) in caplog.text
    assert len(bench.holds) == 0


async def test_a_result_over_the_limit_fails_its_job_and_holds_up_nobody() -> None:
    bench = Bench()
    bench.settle.start()
    bench.add(1)
    bench.add(2, result=b"too large")
    bench.add(3)
    await bench.end()
    assert (bench.counts.completed, bench.counts.retried) == (2, 1)
    (report,) = bench.queue.reports
    assert "the result has 9 bytes" in report


async def test_what_a_cancelled_settle_had_on_its_way_is_unsettled() -> None:
    bench = Bench()
    bench.queue.gate.clear()
    bench.settle.start()
    ending = bench.add(1)
    await until(lambda: bool(bench.queue.batches))
    assert not await bench.settle.ended(within_ms=1)
    assert bench.settle.unsettled == [ending.hold]


DAMAGED = ServerError("ERR a key of it is damaged", about="complete_many of q")
NO_ROW = WrongType(f"WRONGTYPE the row of {jid(7)} is not a hash", about="retry of it")


async def test_one_damaged_job_holds_up_no_other_ending(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.queue.damaged = {jid(7): DAMAGED}
    bench.settle.start()
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        for n in range(50):
            bench.add(n)
        await until(lambda: bench.counts.completed == 49 and bench.settle.waiting == 1)
        assert [len(batch) for batch in bench.queue.batches[:3]] == [50, 25, 25]
        assert len({*map(tuple, bench.queue.batches)}) <= 13  # halving finds one of fifty in six steps of two
        bench.add(50)
        await until(lambda: bench.counts.completed == 50)
    assert all(f"{jid(7)} attempt 1 is refused" in record.getMessage() for record in caplog.records)
    assert all(jid(7) not in batch for batch in bench.queue.batches if jid(50) in batch)
    bench.queue.damaged = {}
    await bench.end()
    assert bench.counts.completed == 51


async def test_endings_that_are_all_refused_are_told_again_alone_until_the_damage_is_mended() -> None:
    bench = Bench()
    bench.queue.damaged = {jid(n): DAMAGED for n in range(3)}
    bench.settle.start()
    for n in range(2):
        bench.add(n)
    bench.add(2, FAILED)
    await until(lambda: bench.counts.errors >= 8 and bench.settle.waiting == 3)
    assert bench.counts.completed == 0
    bench.queue.damaged = {}
    await bench.end()
    assert (bench.counts.completed, bench.counts.retried) == (2, 1)
    assert bench.settle.waiting == 0


async def test_what_the_server_refuses_for_its_own_reasons_waits_as_a_whole() -> None:
    bench = Bench()
    bench.queue.troubles = [ReadOnly("READONLY", about="x"), ServerError("BUSY a script runs", about="x")]
    bench.settle.start()
    for n in range(10):
        bench.add(n)
    await bench.end()
    assert [len(batch) for batch in bench.queue.batches] == [10, 10, 10]
    assert bench.counts.completed == 10


@pytest.mark.parametrize("what", [None, FAILED, Release()])
async def test_a_broken_row_is_counted_and_logged_with_what_to_do_and_not_tried_again(
    what: Retry | Release | None, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    bench.queue.answer = Broken
    bench.queue.damaged = {} if what is None else {jid(7): NO_ROW}
    bench.settle.start()
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.add(7, what)
        await bench.end()
    assert len(bench.queue.batches) + len(bench.queue.reports) == 1
    assert (bench.counts.broken, bench.counts.completed, bench.counts.errors) == (1, 0, 0)
    assert bench.told == [(jid(7), Broken(jid(7)))]
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert str(jid(7)) in record.getMessage()
    assert "`remove`" in record.getMessage()
    assert len(bench.holds) == 0


async def test_a_cancelled_settle_leaves_only_what_was_not_noted_unsettled() -> None:
    bench = Bench()
    bench.queue.damaged = {jid(7): DAMAGED}
    bench.settle.start()
    for n in range(6, 9):
        bench.add(n)
    await until(lambda: bench.counts.completed == 2)
    bench.settle.stop()
    assert not await bench.settle.ended(within_ms=1)
    assert [held.job for held in bench.settle.unsettled] == [jid(7)]
