"""Answers and records: what transitions say, as frozen values.

Every answer names the job it is about, so that it can be logged as it stands. Callers handle answers with `match` and
end with `assert_never`. Instants are Unix ms of the server's clock unless a field says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NewType

from echomq.ids import JobId
from echomq.states import CountName, JobState, SetName

__all__ = [
    "Absent",
    "ActiveJobs",
    "AlreadyThere",
    "Broken",
    "BrowsedJob",
    "Claimed",
    "ClaimedMany",
    "Completed",
    "Completion",
    "ConcurrencySet",
    "Counts",
    "Dead",
    "Delayed",
    "Drained",
    "Duplicate",
    "Empty",
    "Enqueued",
    "Extended",
    "Failed",
    "Finished",
    "Gone",
    "LaneInfo",
    "LanePage",
    "LaneSet",
    "Locked",
    "Logged",
    "Logs",
    "Metrics",
    "MoreToObliterate",
    "NewJob",
    "NodeLeased",
    "NodeNotHeld",
    "NodeReturned",
    "NodesTaken",
    "NotDead",
    "NotExtended",
    "NotInLane",
    "NotPaused",
    "NotScheduled",
    "Obliterated",
    "Page",
    "Paused",
    "Promoted",
    "PromotedMany",
    "Purged",
    "Reaped",
    "Reassigned",
    "Released",
    "Removed",
    "Repaired",
    "Reprocessed",
    "ReprocessedMany",
    "Rescheduled",
    "Resumed",
    "Scheduled",
    "Stale",
    "StoredJob",
    "Taken",
    "Token",
    "Updated",
    "Waiting",
]

Token = NewType("Token", int)
"""The attempt's number, from 1 on: the fencing token that each ending of a run carries (protocol 2.4)."""


# --- admission ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to admit. `max_attempts` is a cap of its own, None for the worker's default; `lane` is where it waits."""

    job: JobId
    payload: bytes
    max_attempts: int | None = None
    lane: str | None = None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The job is admitted and ready to run."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The job waits in `schedule` for its instant: newly admitted, or after a retry."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A job of this id exists; nothing changed and the stored payload stays. A success for whoever repeats a call."""

    job: JobId


# --- claiming -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claimed:
    """One attempt of a job, leased to the caller. `payload` is None only if another speaker lost it.

    `lane` is the lane that it was served from, None for the flat set.
    """

    job: JobId
    payload: bytes | None
    token: Token
    lane: str | None = None


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing is ready."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The queue is paused, and nothing was touched."""


@dataclass(frozen=True, slots=True)
class ClaimedMany:
    """Attempts leased on one common deadline, in mint order; possibly none.

    `left` is how many ids are still ready in the flat set. `broken` are ids whose row is no hash: they were moved to
    `dead`, for somebody to look at.
    """

    jobs: tuple[Claimed, ...]
    left: int
    broken: tuple[JobId, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """Attempts leased on one common deadline, in the order of the rota; possibly none.

    `more` says that more could be served at once: take again when a slot is free. `full` says that the queue's ceiling
    left no room, and nothing was looked at. `due` says that scheduled jobs are due or leases have lapsed now: promote
    and reap. Else `wait_ms` is how long the caller may park: until the next of these, if it is the one that watches for
    it, or as long as it offered. `broken` are ids that were moved to `dead`, for somebody to look at.
    """

    jobs: tuple[Claimed, ...]
    more: bool
    full: bool
    due: bool
    wait_ms: int
    broken: tuple[JobId, ...] = ()


# --- settling -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Completion:
    """An ending to report: the job is done. With `result_ttl_ms` the result is kept for that long."""

    job: JobId
    token: Token
    result: bytes | None = None
    result_ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The job is done and its row deleted."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Dead:
    """The job has no attempts left and lies in `dead` with its error."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Released:
    """The job is ready again, and the attempt does not count against its cap."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Delayed:
    """The job was postponed by its holder."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Extended:
    """The lease was moved forward."""

    job: JobId


@dataclass(frozen=True, slots=True)
class NotExtended:
    """The ids of a batch whose lease could not be extended: stale, gone, or not leased. Empty: all were."""

    jobs: tuple[JobId, ...]


@dataclass(frozen=True, slots=True)
class Stale:
    """The token is not the current one, or the job is no longer leased: somebody else decides about it now. Stop."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such job (any more): it was completed or removed."""

    job: JobId


@dataclass(frozen=True, slots=True)
class Broken:
    """Another program damaged the job's row, or a key of its group or flow parent. `remove` clears the job away."""

    job: JobId


# --- moving ---------------------------------------------------------------------------------------------------------


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


# --- the queue ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Resumed:
    """The queue is not paused (any more)."""


@dataclass(frozen=True, slots=True)
class Drained:
    """How many waiting jobs of this slice were deleted, and whether there may be more: then call again."""

    count: int
    more: bool


@dataclass(frozen=True, slots=True)
class Obliterated:
    """Nothing of the queue is left."""


@dataclass(frozen=True, slots=True)
class MoreToObliterate:
    """A slice was deleted and more is left: call again with `cursor`."""

    cursor: str


@dataclass(frozen=True, slots=True)
class NotPaused:
    """Only a paused queue can be obliterated; nothing changed."""


@dataclass(frozen=True, slots=True)
class ActiveJobs:
    """Jobs are running; nothing changed. Wait for them, or force."""


# --- lanes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LaneSet:
    """The lane is parked, may run again, or has the limit or weight that was asked for. Repeating changes nothing."""

    lane: str


@dataclass(frozen=True, slots=True)
class Reassigned:
    """The waiting job stands in the other lane now."""

    job: JobId
    lane: str


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    """The job is in that lane already; nothing changed."""

    job: JobId
    lane: str


@dataclass(frozen=True, slots=True)
class NotInLane:
    """The job waits in no lane just now: it is in flight, scheduled or dead; nothing changed."""

    job: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneInfo:
    """One lane: how many jobs wait (`depth`) and run (`in_flight`), and its settings.

    `limit` is None without one, `weight` is 1 without one. `oldest` is the waiting job minted first.
    """

    lane: str
    depth: int
    in_flight: int
    limit: int | None
    weight: int
    paused: bool
    oldest: JobId | None


@dataclass(frozen=True, slots=True)
class LanePage:
    """A slice of the lanes; it can be empty though more follow. Ask on with `cursor`, until that is None."""

    lanes: tuple[LaneInfo, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class ConcurrencySet:
    """The queue's ceiling of jobs in flight is set, or taken away."""

    most: int | None


# --- data and reading -----------------------------------------------------------------------------------------------


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


# --- node numbers ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeLeased:
    """A node number for instants after `after_ms` and up to `mark_ms`, both Unix ms as ids hold them."""

    node: int
    after_ms: int
    mark_ms: int


@dataclass(frozen=True, slots=True)
class NodesTaken:
    """Every number is leased; the first lease ends in `retry_after_ms`."""

    retry_after_ms: int


@dataclass(frozen=True, slots=True)
class NodeReturned:
    """The number is free."""


@dataclass(frozen=True, slots=True)
class NodeNotHeld:
    """The number is somebody else's by now; nothing changed."""
