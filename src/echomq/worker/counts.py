"""What a worker did so far, as plain numbers."""

from dataclasses import dataclass, replace

__all__ = ["WorkerCounts"]


@dataclass(slots=True, kw_only=True)
class WorkerCounts:
    """Counters since the worker was made. `Worker.counts` returns a copy. `docs/operating.md` says what each means."""

    claimed: int = 0
    completed: int = 0
    # Attempts that failed: those that run again, and those that were the last.
    retried: int = 0
    dead: int = 0
    # Jobs handed back without spending the attempt.
    released: int = 0
    # Endings that the server refused: another attempt decides about the job, or it is gone.
    stale: int = 0
    # Endings whose first answer was lost and whose repeat was refused: most likely the first one counted.
    unconfirmed: int = 0
    # Runs whose lease could not be kept; their result was refused here.
    lost: int = 0
    # What upkeep did: lapsed jobs made ready, lapsed jobs without an attempt left, due jobs made ready, dead deleted.
    recovered: int = 0
    reaped_dead: int = 0
    promoted: int = 0
    purged: int = 0
    # Waits that a wake-up or work ended, and those of them after which there was nothing left to do.
    woken: int = 0
    woken_in_vain: int = 0
    # Rows of another type than a job's, met while claiming, settling or reaping.
    broken: int = 0
    # Calls that failed (the server's errors and the link's), and asks in vain for lanes that cannot be served.
    errors: int = 0

    def copy(self) -> "WorkerCounts":
        """Return a snapshot."""
        return replace(self)
