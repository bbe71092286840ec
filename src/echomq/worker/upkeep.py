"""Keeps the queue in order, by the clock: lapsed leases, due jobs, old dead ones.

Each chore is a loop of its own, apart from fetching, so a queue that is never empty cannot starve it (weaknesses W24
and W25 of the protocol). It moves jobs in bounded slices until none is left, then waits for its time. Every worker does
this; the server makes each move once.
"""

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
from echomq.worker.service import Service, is_final

__all__ = ["Chore", "Upkeep"]

_WAIT_MAX_MS: Final = 10_000


class Chore(Service):
    """Does `step` every `every_ms`, again at once while it says that there is more.

    The first turn comes after a random part of the period, so that workers which start together take turns. Errors of
    the server and of the link are logged and waited out (weakness W30 of the protocol).
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

    async def _serve(self) -> None:
        await self._pause(self._every_ms * self._dice.fraction())
        while not self.is_stopping:
            try:
                more = await self._step()
            except EchoMQError as error:
                if is_final(error):
                    raise
                await self._failed(error)
                continue
            self._failures = 0
            if not more:
                await self._pause(self._every_ms)

    async def _failed(self, error: EchoMQError) -> None:
        self._counts.errors += 1
        LOG.warning("%s failed and is tried again: %s", self.name, error)
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
            counts.recovered += len(answer.recovered)
            LOG.warning("queue %s: the lease of %s lapsed, ready again", queue, _names(answer.recovered))
            self._on_ready()
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
