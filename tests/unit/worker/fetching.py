"""Fetching from a queue that answers as it is told: what the tests of asking, parking and waiting share."""

import asyncio
from collections.abc import Sequence
from typing import Final, cast

from echomq.drivers.aio_parking import AioParking
from echomq.errors import EchoMQError
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.keys import QueueKeys
from echomq.records import Awaited, Claimed, Paused, Taken
from echomq.transitions.call import Call
from echomq.worker import upkeep as worker_upkeep
from echomq.worker.counts import WorkerCounts
from echomq.worker.fetch import Fetch
from echomq.worker.hold import Hold
from echomq.worker.options import WorkerOptions
from tests.unit.worker.parts import FakeParking, FixedDice, HandClock, claimed, until

__all__ = ["HOUR_MS", "Bench", "Queue", "Upkeep", "taken"]

HOUR_MS: Final = 3_600_000


class Queue:
    """Answers each ask with as many jobs as `ready` and `size` allow, or with the next of `instead`."""

    queue = "q"
    keys = QueueKeys("q")

    def __init__(self, ready: int) -> None:
        self.ready = ready
        self.sizes: list[int] = []
        self.worths: list[bytes] = []
        self.watchers: set[str] = set()
        self.park_ms = 0
        self.woke: list[tuple[int, str | None]] = []
        self.instead: list[EchoMQError | Paused | Taken] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def take(self, *, lease_ms: int, size: int, worth: bytes, watcher: str, park_ms: int) -> Taken | Paused:
        self.sizes.append(size)
        self.worths.append(worth)
        self.watchers.add(watcher)
        self.park_ms = park_ms
        await self.gate.wait()
        if self.instead:
            answer = self.instead.pop(0)
            if isinstance(answer, EchoMQError):
                raise answer
            return answer
        count = min(self.ready, size)
        self.ready -= count
        return taken(*[claimed(self.ready + n) for n in range(count)], more=self.ready > 0, wait_ms=park_ms)

    async def wake(self, *, worth: int, watcher: str | None) -> bool:
        self.woke.append((worth, watcher))
        return True


def taken(
    *jobs: Claimed, more: bool = False, due: bool = False, wait_ms: int = 0, broken: tuple[JobId, ...] = ()
) -> Taken:
    return Taken(jobs, more=more, full=False, due=due, wait_ms=wait_ms, broken=broken)


class Upkeep:
    def __init__(self) -> None:
        self.catches_up = 0
        self.nudges = 0
        self.due = 0

    async def catch_up(self) -> bool:
        self.catches_up += 1
        self.due -= 1
        return self.due >= 0

    def nudge(self) -> None:
        self.nudges += 1


class Bench:
    def __init__(
        self, *, ready: int, slots: int, gather_ms: int = HOUR_MS, beat_ms: int = 1_000, keeps_asks: bool = False
    ) -> None:
        self.queue = Queue(ready)
        self.clock = HandClock(1_000)
        self.upkeep = Upkeep()
        self.parking = FakeParking()
        self.parking.keeps_asks = keeps_asks
        self.slots = slots
        self.running = 0
        self.counts = WorkerCounts()
        self.claimed: list[Hold] = []
        self.fetch = Fetch(
            cast("Jobs", self.queue),
            WorkerOptions(concurrency=slots, gather_ms=gather_ms, beat_ms=beat_ms, lease_ms=5_000),
            self.counts,
            cast("worker_upkeep.Upkeep", self.upkeep),
            clock=self.clock,
            dice=FixedDice(0.0),
            new_parking=self._new_parking,
            free=lambda: self.slots - self.running,
            on_claimed=self._on_claimed,
        )

    async def _new_parking(self) -> AioParking:
        return cast("AioParking", self.parking)

    async def asked(self) -> Call[Awaited]:
        """Wait until the server keeps an ask, and return it."""
        await until(lambda: self.parking.is_asked)
        return self.parking.asked[-1]

    async def parked(self) -> None:
        await until(lambda: self.parking.is_parked)

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
