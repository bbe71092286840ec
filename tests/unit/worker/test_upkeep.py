"""The chores, on a queue that answers as it is told."""

import asyncio
import logging
from typing import cast

import pytest

from echomq.clock import Dice
from echomq.drivers.backoff import delay_ms
from echomq.errors import Closed, Disconnected, ReadOnly, WrongType
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import PromotedMany, Purged, Reaped
from echomq.worker.counts import WorkerCounts
from echomq.worker.options import WorkerOptions
from echomq.worker.upkeep import Upkeep
from tests.unit.worker.parts import FixedDice, jid, until


class Queue:
    queue = "q"

    def __init__(self) -> None:
        self.reaps: list[Reaped | BaseException] = []
        self.reap_always: BaseException | None = None
        self.promotes: list[PromotedMany] = []
        self.purges: list[Purged] = []
        self.asked: list[tuple[object, ...]] = []

    async def reap(self, *, limit: int, max_attempts: int) -> Reaped:
        self.asked.append(("reap", limit, max_attempts))
        answer = self.reaps.pop(0) if self.reaps else Reaped((), (), (), more=False)
        if self.reap_always is not None:
            raise self.reap_always
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def promote(self, *, limit: int) -> PromotedMany:
        self.asked.append(("promote", limit))
        return self.promotes.pop(0) if self.promotes else PromotedMany(0, more=False)

    async def purge(self, *, age_ms: int, limit: int, after: JobId | None) -> Purged:
        self.asked.append(("purge", age_ms, limit, after))
        return self.purges.pop(0) if self.purges else Purged(0, None)


class Bench:
    def __init__(self, **options: int) -> None:
        self.queue = Queue()
        self.counts = WorkerCounts()
        self.rests = False
        periods = {"reap_every_ms": 3_600_000, "promote_every_ms": 3_600_000, "purge_every_ms": 3_600_000}
        self.upkeep = Upkeep(
            cast("Jobs", self.queue),
            WorkerOptions(**{**periods, **options}),  # type: ignore[arg-type]  # whole numbers only
            self.counts,
            dice=FixedDice(0.0),
            rests=lambda: self.rests,
        )

    def start(self) -> None:
        for chore in self.upkeep.chores:
            chore.start()

    async def end(self) -> None:
        for chore in self.upkeep.chores:
            chore.stop()
        for chore in self.upkeep.chores:
            assert await chore.ended(within_ms=60_000)


async def test_recovered_dead_and_ghosts_are_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(max_attempts=7, slice_size=9)
    bench.queue.reaps = [
        Reaped((jid(1), jid(2)), (jid(3),), (jid(4),), more=True),
        Reaped((jid(5),), (), (), more=False),
    ]
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.start()
        await until(lambda: bench.counts.recovered == 3)
    assert (bench.counts.reaped_dead, bench.counts.broken) == (1, 1)
    assert all(str(jid(n)) in caplog.text for n in range(1, 6))
    assert bench.queue.asked.count(("reap", 9, 7)) == 2
    await bench.end()


async def test_due_jobs_are_promoted_until_no_more_are_due() -> None:
    bench = Bench()
    bench.queue.promotes = [PromotedMany(100, more=True), PromotedMany(100, more=True), PromotedMany(3, more=False)]
    bench.start()
    await until(lambda: bench.counts.promoted == 203)
    await bench.end()


async def test_reaping_and_promoting_rest_while_the_worker_is_idle_and_purging_does_not() -> None:
    bench = Bench(reap_every_ms=1, promote_every_ms=1, purge_every_ms=1, purge_dead_after_ms=60_000)
    bench.rests = True
    bench.start()
    await until(lambda: bench.queue.asked.count(("purge", 60_000, 100, None)) == 3)
    assert {ask[0] for ask in bench.queue.asked} == {"purge"}
    bench.rests = False
    await until(lambda: {ask[0] for ask in bench.queue.asked} == {"purge", "reap", "promote"})
    await bench.end()


async def test_a_nudge_has_the_next_step_done_now_even_when_resting() -> None:
    bench = Bench()
    bench.rests = True
    bench.start()
    await until(lambda: True)
    bench.upkeep.nudge()
    await until(lambda: {ask[0] for ask in bench.queue.asked} == {"reap", "promote"})
    await bench.end()


async def test_catching_up_moves_one_slice_and_the_chores_go_on_with_the_rest() -> None:
    bench = Bench()
    bench.rests = True
    bench.queue.reaps = [Reaped((jid(1),), (), (), more=True), Reaped((jid(2),), (), (), more=False)]
    bench.queue.promotes = [PromotedMany(100, more=True), PromotedMany(1, more=False)]
    assert await bench.upkeep.catch_up()
    assert (bench.counts.recovered, bench.counts.promoted) == (1, 100)
    bench.start()
    await until(lambda: (bench.counts.recovered, bench.counts.promoted) == (2, 101))
    await bench.end()


async def test_catching_up_says_whether_anything_was_moved_and_a_failure_is_noted() -> None:
    bench = Bench()
    bench.queue.reaps = [ZeroDivisionError("a bug")] * 2
    bench.queue.promotes = [PromotedMany(7, more=False)]
    assert await bench.upkeep.catch_up()
    assert (bench.counts.errors, bench.counts.promoted) == (1, 7)
    assert not await bench.upkeep.catch_up()
    assert bench.counts.errors == 2
    assert not await bench.upkeep.catch_up()
    for reaped in [Reaped((jid(1),), (), (), more=False), Reaped((), (jid(1),), (), more=False)]:
        bench.queue.reaps = [reaped]
        assert await bench.upkeep.catch_up()
    bench.queue.reap_always = Closed("closed")
    with pytest.raises(Closed):
        await bench.upkeep.catch_up()


async def test_purge_walks_on_from_where_it_was_and_only_when_asked_to() -> None:
    bench = Bench()
    assert [chore.name for chore in bench.upkeep.chores] == ["reap", "promote"]
    bench = Bench(purge_dead_after_ms=60_000, slice_size=5)
    bench.queue.purges = [Purged(5, jid(8)), Purged(1, None)]
    bench.start()
    await until(lambda: bench.counts.purged == 6)
    await bench.end()
    assert [ask for ask in bench.queue.asked if ask[0] == "purge"] == [
        ("purge", 60_000, 5, None),
        ("purge", 60_000, 5, jid(8)),
    ]


async def test_errors_of_server_and_link_never_end_a_chore(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.queue.reaps = [
        Disconnected("no link"),
        ReadOnly("READONLY", about="reap of q"),
        Reaped((jid(1),), (), (), more=False),
    ]
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.start()
        await until(lambda: bench.counts.recovered == 1)
    assert bench.counts.errors == 2
    assert "reap failed and is tried again: no link" in caplog.text
    await bench.end()


@pytest.mark.parametrize("bug", [ZeroDivisionError("a bug"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "a bug")])
async def test_no_exception_of_one_step_ends_a_chore_and_a_bug_is_told_with_its_place(
    bug: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    bench.queue.reaps = [bug, Reaped((jid(1),), (), (), more=False)]
    with caplog.at_level(logging.INFO, "echomq.worker"):
        bench.start()
        await until(lambda: bench.counts.recovered == 1)
    assert bench.counts.errors == 1
    assert caplog.records[0].levelno == logging.ERROR
    assert "reap met a bug" in caplog.text
    assert "Traceback" in caplog.text
    assert __file__ in caplog.text
    assert "reap works again after 1 failures" in caplog.text
    await bench.end()


async def test_a_client_that_is_closed_ends_a_chore_with_the_reason() -> None:
    bench = Bench()
    bench.queue.reap_always = Closed("closed")
    bench.start()
    async with asyncio.timeout(60):
        assert await bench.upkeep.chores[0].crash() is bench.queue.reap_always
    await bench.end()


async def test_an_error_that_stays_neither_spins_nor_floods_the_log_and_the_other_chores_go_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits_ms: list[float] = []

    def no_wait(attempt: int, dice: Dice, *, first_ms: int, last_ms: int) -> float:
        waits_ms.append(delay_ms(attempt, dice, first_ms=first_ms, last_ms=last_ms))
        return 0

    monkeypatch.setattr("echomq.worker.upkeep.delay_ms", no_wait)
    bench = Bench(reap_every_ms=1)
    bench.queue.reap_always = WrongType("WRONGTYPE damaged", about="reap of q")
    bench.queue.promotes = [PromotedMany(1, more=True)] * 50
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.start()
        await until(lambda: len(waits_ms) >= 200 and bench.counts.promoted == 50)
    assert bench.counts.errors >= 200
    assert waits_ms[:8] == [100, 200, 400, 800, 1600, 3200, 6400, 10_000]
    assert set(waits_ms[8:]) == {10_000}
    assert 8 <= len([record for record in caplog.records if "reap failed" in record.getMessage()]) <= 13
    await bench.end()
