"""Keeps the queue in order: lapsed leases, due jobs, old dead ones.

Each chore is a loop of its own, apart from fetching, so a queue that is never empty cannot starve it (weaknesses W24
and W25 of the protocol). It moves jobs in bounded slices until none is left, then waits for its time. Every worker does
this; the server makes each move once.

While a worker is idle, reaping and promoting rest: each of its asks is told the next instant at which there is
something to do, and one of the parked workers watches for it, so that nothing is asked in vain and nothing is late.

A chore survives every `Exception` of a step, bugs too: a step is one transition, it has happened as a whole or not at
all, and nothing that the worker holds depends on it, so the next step starts afresh. A chore that ended, or took the
worker down, would leave lapsed jobs of the whole queue where they are because of one that it stumbled over. The other
loops hold jobs in memory, and a bug there takes the worker down: what they hold could not be trusted any more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from echomq.clock import Dice
from echomq.drivers.backoff import delay_ms
from echomq.errors import EchoMQError
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.worker.counts import WorkerCounts
from echomq.worker.log import LOG
from echomq.worker.options import WorkerOptions
from echomq.worker.repeats import Repeats
from echomq.worker.service import Service, is_final

__all__ = ["Chore", "Slice", "Upkeep"]

_WAIT_MAX_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Slice:
    """What one step did: whether it moved a job, and whether there is more to move."""

    moved: bool
    more: bool


_NOTHING: Final = Slice(moved=False, more=False)


class Chore(Service):
    """Does `step` every `every_ms`, again at once while it says that there is more; not while `rests` says so.

    The first turn comes after a random part of the period, so that workers which start together take turns. Failures
    are counted, logged (a row of equal ones at 1, 2, 4, … and each 64th) and waited out, longer each time, up to 10 s
    or the period (weakness W30 of the protocol). Only a client that is closed or refused for good ends it.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], Awaitable[Slice]],
        *,
        every_ms: int,
        counts: WorkerCounts,
        dice: Dice,
        rests: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(name)
        self._rests = rests
        self._nudged = asyncio.Event()
        self._step = step
        self._every_ms = every_ms
        self._counts = counts
        self._dice = dice
        self._failures = 0
        self._repeats = Repeats()

    def stop(self) -> None:
        """Begin no further step."""
        super().stop()
        self._nudged.set()

    def nudge(self) -> None:
        """Have the next step done now, resting or not."""
        self._nudged.set()

    async def begin(self) -> bool:
        """Do one step here and now, and have the chore go on when there is more. Says whether it moved anything.

        A failure is noted; raises when it is final.
        """
        done = await self._slice()
        if done is None:
            return False
        if done.more:
            self.nudge()
        return done.moved

    async def _serve(self) -> None:
        is_nudged = await self._until_time(self._every_ms * self._dice.fraction())
        while not self.is_stopping:
            if is_nudged or not self._rests():
                await self._steps()
            is_nudged = await self._until_time(self._every_ms)

    async def _steps(self) -> None:
        """Do steps until there is nothing more, however many of them fail."""
        more = True
        while more and not self.is_stopping:
            done = await self._slice()
            if done is not None:
                more = done.more
                continue
            last_ms = max(_WAIT_MAX_MS, self._every_ms)
            await self._pause(delay_ms(max(0, self._failures - 1), self._dice, first_ms=100, last_ms=last_ms))

    async def _slice(self) -> Slice | None:
        """Do a step, nothing when stopping. None: it failed, which is noted."""
        if self.is_stopping:
            return _NOTHING
        try:
            done = await self._step()
        except Exception as error:
            self._note(error)
            return None
        self._succeeded()
        return done

    async def _until_time(self, wait_ms: float) -> bool:
        """Wait for the time given, a nudge or the stop, and say whether it was one of the latter."""
        try:
            async with asyncio.timeout(wait_ms / 1000):
                await self._nudged.wait()
        except TimeoutError:
            return False
        self._nudged.clear()
        return True

    def _succeeded(self) -> None:
        if self._failures:
            LOG.info("%s works again after %d failures", self.name, self._failures)
            self._failures = 0
            self._repeats.over()

    def _note(self, error: Exception) -> None:
        if isinstance(error, EchoMQError) and is_final(error):
            raise error
        self._counts.errors += 1
        self._failures += 1
        is_loud = self._repeats.is_loud(f"{type(error).__name__} {error}")
        if isinstance(error, EchoMQError):
            LOG.log(logging.WARNING if is_loud else logging.DEBUG, "%s failed and is tried again: %s", self.name, error)
        else:
            LOG.log(
                logging.ERROR if is_loud else logging.DEBUG,
                "%s met a bug and is tried again: please report this: %r",
                self.name,
                error,
                exc_info=error,
            )


class Upkeep:
    """The chores of one queue. `rests` says whether the worker is idle, so that reaping and promoting wait for it."""

    def __init__(
        self, jobs: Jobs, options: WorkerOptions, counts: WorkerCounts, *, dice: Dice, rests: Callable[[], bool]
    ) -> None:
        self._jobs = jobs
        self._options = options
        self._counts = counts
        self._purged_up_to: JobId | None = None
        self._moving = [
            Chore("reap", self._reap, every_ms=options.reap_every_ms, counts=counts, dice=dice, rests=rests),
            Chore("promote", self._promote, every_ms=options.promote_every_ms, counts=counts, dice=dice, rests=rests),
        ]
        self.chores = list(self._moving)
        if options.purge_dead_after_ms is not None:
            self.chores.append(Chore("purge", self._purge, every_ms=options.purge_every_ms, counts=counts, dice=dice))

    def nudge(self) -> None:
        """Have lapsed leases taken back and due jobs made ready now, by the chores."""
        for chore in self._moving:
            chore.nudge()

    async def catch_up(self) -> bool:
        """Take back a slice of the lapsed leases and make one of the due jobs ready; the chores go on with the others.

        Says whether any was moved: not so when another worker was quicker, or it failed, which is noted.
        """
        return any(await asyncio.gather(*[chore.begin() for chore in self._moving]))

    async def _reap(self) -> Slice:
        answer = await self._jobs.reap(limit=self._options.slice_size, max_attempts=self._options.max_attempts)
        counts, queue = self._counts, self._jobs.queue
        if answer.recovered:
            counts.recovered += len(answer.recovered)
            LOG.warning("queue %s: the lease of %s lapsed, ready again", queue, _names(answer.recovered))
        if answer.dead:
            counts.reaped_dead += len(answer.dead)
            LOG.error("queue %s: the lease of %s lapsed and no attempt is left: dead", queue, _names(answer.dead))
        if answer.ghosts:
            counts.broken += len(answer.ghosts)
            LOG.warning("queue %s: %s were leased without a job: dropped", queue, _names(answer.ghosts))
        return Slice(moved=bool(answer.recovered or answer.dead or answer.ghosts), more=answer.more)

    async def _promote(self) -> Slice:
        answer = await self._jobs.promote(limit=self._options.slice_size)
        if answer.count:
            self._counts.promoted += answer.count
            LOG.debug("queue %s: %d due jobs are ready", self._jobs.queue, answer.count)
        return Slice(moved=answer.count > 0, more=answer.more)

    async def _purge(self) -> Slice:
        assert self._options.purge_dead_after_ms is not None
        answer = await self._jobs.purge(
            age_ms=self._options.purge_dead_after_ms, limit=self._options.slice_size, after=self._purged_up_to
        )
        self._purged_up_to = answer.after
        if answer.count:
            self._counts.purged += answer.count
            LOG.info("queue %s: %d jobs dead for long were deleted", self._jobs.queue, answer.count)
        return Slice(moved=answer.count > 0, more=answer.after is not None)


def _names(jobs: tuple[JobId, ...]) -> str:
    return ", ".join(map(str, jobs))
