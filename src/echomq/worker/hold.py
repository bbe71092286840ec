"""The attempts that a worker holds: shared by the event loop, which runs them, and the lease thread, which renews.

What a hold says about its lease is written by the lease thread and read by the loop. Everything else about it is
decided in the loop. An attempt is known by job and token, since a worker may claim the next attempt of a job whose last
handler it could not stop.
"""

import threading
from asyncio import Task
from collections.abc import Callable, Iterable

from echomq.ids import JobId
from echomq.records import Claimed, Token

__all__ = ["Hold", "Holds"]


class Hold:
    """One attempt of one job.

    `deadline_ms` is the local monotonic instant at which the lease must be taken for lapsed, dated from before the
    claim or the last renewal was sent, so it is never later than the server's. `lost` is why the attempt is not ours
    any more. `is_cancelled` says that the worker asked its handler to end. `is_ended` says that its ending is decided.
    """

    __slots__ = (
        "cancel",
        "deadline_ms",
        "is_cancelled",
        "is_ended",
        "is_started",
        "job",
        "lane",
        "lost",
        "payload",
        "task",
        "token",
    )

    def __init__(self, claimed: Claimed, *, deadline_ms: int) -> None:
        self.job: JobId = claimed.job
        self.token: Token = claimed.token
        self.lane = claimed.lane
        self.payload = claimed.payload
        self.deadline_ms = deadline_ms
        self.lost: str | None = None
        self.is_cancelled = False
        self.is_ended = False
        self.is_started = False
        self.cancel: Callable[[str], bool] | None = None
        self.task: Task[None] | None = None

    def __repr__(self) -> str:
        lane = "" if self.lane is None else f" of lane {self.lane}"
        return f"{self.job} attempt {self.token}{lane}"


class Holds:
    """All attempts held now. Safe to use from both threads."""

    __slots__ = ("_by_attempt", "_lock")

    def __init__(self) -> None:
        self._by_attempt: dict[tuple[JobId, Token], Hold] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._by_attempt)

    def add(self, holds: Iterable[Hold]) -> None:
        """Hold these."""
        with self._lock:
            for hold in holds:
                self._by_attempt[hold.job, hold.token] = hold

    def drop(self, holds: Iterable[Hold]) -> None:
        """Hold these no longer: no renewal is sent for them."""
        with self._lock:
            for hold in holds:
                self._by_attempt.pop((hold.job, hold.token), None)

    def all(self) -> list[Hold]:
        """Return those held now."""
        with self._lock:
            return list(self._by_attempt.values())
