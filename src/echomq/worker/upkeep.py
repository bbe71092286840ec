"""Keeps the queue in order, by the clock: lapsed leases, due jobs, old dead ones.

Each chore is a loop of its own, apart from fetching, so a queue that is never empty cannot starve it (weaknesses W24
and W25 of the protocol). It moves jobs in bounded slices until none is left, then waits for its time. Every worker does
this; the server makes each move once.

A chore survives every `Exception` of a step, bugs too: a step is one transition, it has happened as a whole or not at
all, and nothing that the worker holds depends on it, so the next step starts afresh. A chore that ended, or took the
worker down, would leave lapsed jobs of the whole queue where they are because of one that it stumbled over. The other
loops hold jobs in memory, and a bug there takes the worker down: what they hold could not be trusted any more.
"""

import logging
from collections.abc import Awaitable, Callable
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

__all__ = ["Chore", "Upkeep"]

_WAIT_MAX_MS: Final = 10_000


class Chore(Service):
    """Does `step` every `every_ms`, again at once while it says that there is more.

    The first turn comes after a random part of the period, so that workers which start together take turns. Failures
    are counted, logged (a row of equal ones at 1, 2, 4, … and each 64th) and waited out, longer each time, up to 10 s
    or the period (weakness W30 of the protocol). Only a client that is closed or refused for good ends it.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], Awaitable[bool]],
        *,
        every_ms: int,
        counts: WorkerCounts,
        dice: Dice,
    ) -> None:
        super().__init__(name)
        self._step = step
        self._every_ms = every_ms
        self._counts = counts
        self._dice = dice
        self._failures = 0
        self._repeats = Repeats()

    async def _serve(self) -> None:
        await self._pause(self._every_ms * self._dice.fraction())
        while not self.is_stopping:
            try:
                more = await self._step()
            except Exception as error:
                if isinstance(error, EchoMQError) and is_final(error):
                    raise
                await self._failed(error)
                continue
            self._succeeded()
            if not more:
                await self._pause(self._every_ms)

    def _succeeded(self) -> None:
        if self._failures:
            LOG.info("%s works again after %d failures", self.name, self._failures)
            self._failures = 0
            self._repeats.over()

    async def _failed(self, error: Exception) -> None:
        self._counts.errors += 1
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
        wait_ms = delay_ms(self._failures, self._dice, first_ms=100, last_ms=max(_WAIT_MAX_MS, self._every_ms))
        self._failures += 1
        await self._pause(wait_ms)


class Upkeep:
    """The chores of one queue. `on_ready` is called when jobs were made ready."""

    def __init__(
        self, jobs: Jobs, options: WorkerOptions, counts: WorkerCounts, *, dice: Dice, on_ready: Callable[[], None]
    ) -> None:
        self._jobs = jobs
        self._options = options
        self._counts = counts
        self._on_ready = on_ready
        self._purged_up_to: JobId | None = None
        self.chores = [
            Chore("reap", self._reap, every_ms=options.reap_every_ms, counts=counts, dice=dice),
            Chore("promote", self._promote, every_ms=options.promote_every_ms, counts=counts, dice=dice),
        ]
        if options.purge_dead_after_ms is not None:
            self.chores.append(Chore("purge", self._purge, every_ms=options.purge_every_ms, counts=counts, dice=dice))

    async def _reap(self) -> bool:
        answer = await self._jobs.reap(limit=self._options.slice_size, max_attempts=self._options.max_attempts)
        counts, queue = self._counts, self._jobs.queue
        if answer.recovered:
            self._on_ready()
            counts.recovered += len(answer.recovered)
            LOG.warning("queue %s: the lease of %s lapsed, ready again", queue, _names(answer.recovered))
        if answer.dead:
            counts.reaped_dead += len(answer.dead)
            LOG.error("queue %s: the lease of %s lapsed and no attempt is left: dead", queue, _names(answer.dead))
        if answer.ghosts:
            counts.broken += len(answer.ghosts)
            LOG.warning("queue %s: %s were leased without a job: dropped", queue, _names(answer.ghosts))
        return answer.more

    async def _promote(self) -> bool:
        answer = await self._jobs.promote(limit=self._options.slice_size)
        if answer.count:
            self._counts.promoted += answer.count
            LOG.debug("queue %s: %d due jobs are ready", self._jobs.queue, answer.count)
            self._on_ready()
        return answer.more

    async def _purge(self) -> bool:
        assert self._options.purge_dead_after_ms is not None
        answer = await self._jobs.purge(
            age_ms=self._options.purge_dead_after_ms, limit=self._options.slice_size, after=self._purged_up_to
        )
        self._purged_up_to = answer.after
        if answer.count:
            self._counts.purged += answer.count
            LOG.info("queue %s: %d jobs dead for long were deleted", self._jobs.queue, answer.count)
        return answer.after is not None


def _names(jobs: tuple[JobId, ...]) -> str:
    return ", ".join(map(str, jobs))
