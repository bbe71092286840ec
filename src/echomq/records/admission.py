"""What is admitted, and what admission answers."""

from dataclasses import dataclass

from echomq.ids import JobId

__all__ = [
    "Duplicate",
    "Enqueued",
    "NewJob",
    "Scheduled",
]


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
