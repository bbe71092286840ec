"""What moves that no holder asks for answer: due, lapsed, removed, dead and lost jobs."""

from dataclasses import dataclass

from echomq.ids import JobId

__all__ = [
    "Locked",
    "NotDead",
    "NotScheduled",
    "Promoted",
    "PromotedMany",
    "Purged",
    "Reaped",
    "Removed",
    "Repaired",
    "Reprocessed",
    "ReprocessedMany",
    "Rescheduled",
]


@dataclass(frozen=True, slots=True)
class Promoted:
    """The scheduled job was made ready at once."""

    job: JobId


@dataclass(frozen=True, slots=True)
class PromotedMany:
    """How many due jobs left `schedule`, and whether more may be due: then call again."""

    count: int
    more: bool


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """The scheduled job waits for another instant, in Unix ms of the server."""

    job: JobId
    due_at_ms: int


@dataclass(frozen=True, slots=True)
class NotScheduled:
    """The job is not in `schedule`; nothing changed."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Reaped:
    """What became of jobs whose lease lapsed.

    `recovered` are ready again; `dead` had no attempt left (or were damaged); `ghosts` were ids without a job.
    `more` says that the limit was reached: call again.
    """

    recovered: tuple[JobId, ...]
    dead: tuple[JobId, ...]
    ghosts: tuple[JobId, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Removed:
    """The job is deleted from wherever it was."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Locked:
    """A worker of another speaker holds the job's lock; nothing changed. Try again when the lock has expired."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Reprocessed:
    """The dead job is ready again."""

    job: JobId


@dataclass(frozen=True, slots=True)
class NotDead:
    """The job is not in `dead`; nothing changed."""

    job: JobId


@dataclass(frozen=True, slots=True)
class ReprocessedMany:
    """How many dead jobs of this slice are ready again. Call again with `after`, until it is None."""

    count: int
    after: JobId | None


@dataclass(frozen=True, slots=True)
class Purged:
    """How many dead jobs of this slice were deleted. Call again with `after`, until it is None."""

    count: int
    after: JobId | None


@dataclass(frozen=True, slots=True)
class Repaired:
    """Jobs of this slice that were in no set and were put back. Call again with `cursor`, until it is None."""

    jobs: tuple[JobId, ...]
    cursor: str | None
