"""Asks for work when there is room, for as many jobs as there is room for, in one call.

While the server has more, the next ask follows as soon as a quarter of the slots is free, or nothing runs, or a free
slot has waited `gather_ms`: jobs of any length are claimed in batches, and no slot stays empty beside long jobs.
While the server has nothing, `Idle` says how long to wait.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, assert_never

from echomq.batches import BATCH_MAX
from echomq.clock import Clock, Dice
from echomq.drivers.backoff import delay_ms
from echomq.errors import EchoMQError, Unknown
from echomq.jobs import Jobs
from echomq.records import ClaimedMany, Paused
from echomq.worker.counts import WorkerCounts
from echomq.worker.hold import Hold
from echomq.worker.idle import Idle
from echomq.worker.log import LOG
from echomq.worker.options import WorkerOptions
from echomq.worker.repeats import Repeats
from echomq.worker.service import Service, is_final

__all__ = ["Fetch"]

_WAIT_MAX_MS: Final = 2_000


class Fetch(Service):
    """Claims jobs and hands them to `on_claimed`. `free` says how many more fit now.

    When it is told to stop, an ask on its way is waited for, since its jobs are leased already: `on_claimed` gets them
    all the same and has to hand them back.
    """

    def __init__(
        self,
        jobs: Jobs,
        options: WorkerOptions,
        counts: WorkerCounts,
        *,
        clock: Clock,
        dice: Dice,
        free: Callable[[], int],
        on_claimed: Callable[[Sequence[Hold]], None],
    ) -> None:
        super().__init__("fetch")
        self._jobs = jobs
        self._options = options
        self._counts = counts
        self._clock = clock
        self._dice = dice
        self._free = free
        self._on_claimed = on_claimed
        self._batch = max(1, options.concurrency // 4)
        self._room = asyncio.Event()
        self._plenty = asyncio.Event()
        self._failures = 0
        self._repeats = Repeats()
        self.idle = Idle(beat_ms=options.beat_ms)

    def freed(self, *, is_last: bool) -> None:
        """Say that a slot has become free. `is_last`: nothing else runs."""
        self._room.set()
        if is_last or self._free() >= self._batch:
            self._plenty.set()

    def stop(self) -> None:
        """Ask no more."""
        super().stop()
        self.idle.wake()
        self._room.set()
        self._plenty.set()

    async def _serve(self) -> None:
        while (size := await self._enough_room()) > 0:
            try:
                await self._ask(min(size, BATCH_MAX))
            except EchoMQError as error:
                if is_final(error):
                    raise
                await self._failed(error)
            else:
                self._failures = 0
                self._repeats.over()

    async def _enough_room(self) -> int:
        """Wait until it is worth asking and return how many jobs fit; 0 when it is time to stop."""
        if self._free() >= self._batch or self.is_stopping:
            return 0 if self.is_stopping else self._free()
        self._plenty.clear()
        while self._free() <= 0 and not self.is_stopping:
            self._room.clear()
            await self._room.wait()
        if self._options.gather_ms and not self._plenty.is_set():
            try:
                async with asyncio.timeout(self._options.gather_ms / 1000):
                    await self._plenty.wait()
            except TimeoutError:
                pass
        return 0 if self.is_stopping else self._free()

    async def _ask(self, size: int) -> None:
        sent_ms = self._clock.monotonic_ms()
        answer = await self._jobs.claim_many(lease_ms=self._options.lease_ms, size=size)
        match answer:
            case Paused():
                await self.idle.wait_a_beat()
            case ClaimedMany(jobs, left, broken):
                if broken:
                    self._note_broken(answer)
                if jobs:
                    self._counts.claimed += len(jobs)
                    self.idle.found_work()
                    deadline_ms = sent_ms + self._options.lease_ms
                    self._on_claimed([Hold(job, deadline_ms=deadline_ms) for job in jobs])
                if left == 0 and len(jobs) < size:
                    await self.idle.wait()
            case _:
                assert_never(answer)

    def _note_broken(self, answer: ClaimedMany) -> None:
        self._counts.broken += len(answer.broken)
        LOG.error(
            "queue %s: the rows of %s are no jobs', another program wrote to them: they were moved to dead",
            self._jobs.queue,
            ", ".join(map(str, answer.broken)),
        )

    async def _failed(self, error: EchoMQError) -> None:
        self._counts.errors += 1
        level = logging.WARNING if self._repeats.is_loud(f"{type(error).__name__} {error}") else logging.DEBUG
        if isinstance(error, Unknown):
            LOG.log(
                level,
                "queue %s: jobs may have been claimed, and nobody runs them until their lease of %d ms lapses: %s",
                self._jobs.queue,
                self._options.lease_ms,
                error,
            )
        else:
            LOG.log(level, "queue %s: asking for work failed and is tried again: %s", self._jobs.queue, error)
        wait_ms = delay_ms(self._failures, self._dice, first_ms=50, last_ms=_WAIT_MAX_MS)
        self._failures += 1
        await self._pause(wait_ms)
