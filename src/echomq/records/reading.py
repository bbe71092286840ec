"""Jobs, sets and counts as they are read, and what writing to a job answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from echomq.ids import JobId
from echomq.states import CountName, JobState, SetName

__all__ = [
    "Absent",
    "BrowsedJob",
    "Counts",
    "Failed",
    "Finished",
    "Logged",
    "Logs",
    "Metrics",
    "Page",
    "StoredJob",
    "Updated",
    "Waiting",
]


@dataclass(frozen=True, slots=True)
class Updated:
    """The field was written."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Logged:
    """The line was appended; `lines` are kept now."""

    job: JobId
    lines: int


@dataclass(frozen=True, slots=True)
class Logs:
    """A slice of a job's log, oldest first, and how many lines there are in all."""

    lines: tuple[bytes, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such job."""

    job: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob:
    """A job's row. `extra` holds the fields of other editions, untouched."""

    job: JobId
    state: JobState
    attempts: int
    payload: bytes | None
    lane: str | None = None
    last_error: str | None = None
    progress: bytes | None = None
    max_attempts: int | None = None
    unspent: int = 0
    died_at_ms: int | None = None
    extra: Mapping[bytes, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrowsedJob:
    """One member of a set. `at_ms` is when it is due (`schedule`) or its lease ends (`active`), else None.

    Another program can have written a score that is no instant: a fraction of a ms is cut off, an infinite one is None.
    `score` is the server's own text of it, for going on from this place exactly; records made by hand leave it out.
    """

    job: JobId
    at_ms: int | None
    score: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a set. Ask for the next with `after=page.after`, until that is None."""

    name: SetName
    jobs: tuple[BrowsedJob, ...]
    after: BrowsedJob | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each were asked for. Names that were not asked for are missing."""

    by_name: Mapping[CountName, int]

    def __getitem__(self, name: CountName | str) -> int:
        return self.by_name[CountName(name)]


@dataclass(frozen=True, slots=True)
class Metrics:
    """How often something happened, and the length of the reserved series."""

    count: int
    series_length: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A kept result. It vanishes when its TTL ends."""

    job: JobId
    result: bytes
    attempts: int
    completed_at_ms: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The job is dead, with the error of its last attempt."""

    job: JobId
    error: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """The job has not ended yet."""

    job: JobId
    state: JobState
    attempts: int
