"""How an attempt ends, and what its holder is told."""

from dataclasses import dataclass

from echomq.ids import JobId
from echomq.records.claiming import Token

__all__ = [
    "Broken",
    "Completed",
    "Completion",
    "Dead",
    "Delayed",
    "Extended",
    "Gone",
    "NotExtended",
    "Released",
    "Stale",
]


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
