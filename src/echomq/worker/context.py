"""What a handler is given: the job, and what it may do while it runs."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeVar

from echomq.blocking_jobs import BlockingJobs
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import Gone, Logged, Stale, Token, Updated
from echomq.worker.hold import Hold

__all__ = ["CURRENT", "Desk", "Run", "current_job"]

A = TypeVar("A")

CURRENT: Final[ContextVar[JobId | None]] = ContextVar("echomq_job", default=None)


def current_job() -> JobId | None:
    """Return the job whose handler calls this, in its task or thread; None outside. For log records."""
    return CURRENT.get()


@dataclass(slots=True)
class Desk:
    """What all runs of a worker share: the two faces of the queue, and whether the worker is stopping."""

    jobs: Jobs
    blocking_jobs: Callable[[], BlockingJobs]
    is_stopping: bool = False


class Run:
    """One run of one job.

    Give it on, do not keep it: after the handler has returned it says nothing true. Attributes may be read from any
    thread.
    """

    __slots__ = ("_desk", "_hold", "job", "payload", "token")

    def __init__(self, hold: Hold, desk: Desk) -> None:
        self._hold = hold
        self._desk = desk
        self.job: JobId = hold.job
        self.payload: bytes | None = hold.payload
        self.token: Token = hold.token

    def __repr__(self) -> str:
        return f"Run({self.queue}, {self._hold!r})"

    @property
    def queue(self) -> str:
        """The queue's name."""
        return self._desk.jobs.queue

    @property
    def lane(self) -> str | None:
        """The lane that the job waited in, None for one without a lane."""
        return self._hold.lane

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1 on: the token."""
        return self.token

    @property
    def lost(self) -> bool:
        """Whether the job is not this run's any more: stop at the next safe point, the result will be refused.

        A coroutine handler is cancelled besides; a plain function has to look here from time to time.
        """
        return self._hold.lost is not None

    @property
    def lost_because(self) -> str | None:
        """Why it is lost, in words, or None."""
        return self._hold.lost

    @property
    def stopping(self) -> bool:
        """Whether the worker is stopping: a long handler may save its place and return soon."""
        return self._desk.is_stopping

    @property
    def deadline_ms(self) -> int:
        """When the lease ends unless it is renewed again, in ms of the worker's monotonic clock."""
        return self._hold.deadline_ms

    async def progress(self, progress: bytes) -> Updated | Gone | Stale:
        """Store and publish how far the job is. `Gone` and `Stale` mean that the run is lost. Raises as `Jobs` does."""
        return self._noted(await self._desk.jobs.update_progress(self.job, progress, token=self.token))

    async def log(self, line: bytes) -> Logged | Gone | Stale:
        """Append a line to the job's log. `Gone` and `Stale` mean that the run is lost. Raises as `Jobs` does."""
        return self._noted(await self._desk.jobs.add_log(self.job, line, token=self.token))

    def progress_blocking(self, progress: bytes) -> Updated | Gone | Stale:
        """As `progress`, for plain functions. Not for coroutines: it would block their loop."""
        return self._noted(self._desk.blocking_jobs().update_progress(self.job, progress, token=self.token))

    def log_blocking(self, line: bytes) -> Logged | Gone | Stale:
        """As `log`, for plain functions. Not for coroutines: it would block their loop."""
        return self._noted(self._desk.blocking_jobs().add_log(self.job, line, token=self.token))

    def _noted(self, answer: A) -> A:
        if isinstance(answer, Gone | Stale) and self._hold.lost is None:
            self._hold.lost = "the server refused what it reported: the job is gone or another attempt holds it"
        return answer
