"""The chores, on a queue that answers as it is told."""

import logging
from typing import cast

import pytest

from echomq.errors import Disconnected, EchoMQError, ReadOnly
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
        self.reaps: list[Reaped | EchoMQError] = []
        self.promotes: list[PromotedMany] = []
        self.purges: list[Purged] = []
        self.asked: list[tuple[object, ...]] = []

    async def reap(self, *, limit: int, max_attempts: int) -> Reaped:
        self.asked.append(("reap", limit, max_attempts))
        answer = self.reaps.pop(0) if self.reaps else Reaped((), (), (), more=False)
        if isinstance(answer, EchoMQError):
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
        self.readied = 0
        periods = {"reap_every_ms": 3_600_000, "promote_every_ms": 3_600_000, "purge_every_ms": 3_600_000}
        self.upkeep = Upkeep(
            cast("Jobs", self.queue),
            WorkerOptions(**{**periods, **options}),  # type: ignore[arg-type]  # whole numbers only
            self.counts,
            dice=FixedDice(0.0),
            on_ready=self._ready,
        )

    def _ready(self) -> None:
        self.readied += 1

    def start(self) -> None:
        for chore in self.upkeep.chores:
            chore.start()

    async def end(self) -> None:
        for chore in self.upkeep.chores:
            chore.stop()
        for chore in self.upkeep.chores:
            assert await chore.ended(within_ms=10_000)


async def test_recovered_dead_and_ghosts_are_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(max_attempts=7, slice_size=9)
    bench.queue.reaps = [
        Reaped((jid(1), jid(2)), (jid(3),), (jid(4),), more=True),
        Reaped((jid(5),), (), (), more=False),
    ]
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.start()
        await until(lambda: bench.counts.recovered == 3)
    assert (bench.counts.reaped_dead, bench.counts.broken, bench.readied) == (1, 1, 2)
    assert all(str(jid(n)) in caplog.text for n in range(1, 6))
    assert bench.queue.asked.count(("reap", 9, 7)) == 2
    await bench.end()


async def test_due_jobs_are_promoted_until_no_more_are_due() -> None:
    bench = Bench()
    bench.queue.promotes = [PromotedMany(100, more=True), PromotedMany(100, more=True), PromotedMany(3, more=False)]
    bench.start()
    await until(lambda: bench.counts.promoted == 203)
    assert bench.readied == 3
    await bench.end()


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
