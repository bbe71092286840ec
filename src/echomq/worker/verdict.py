"""What follows from how a run ended: pure, so that every case is a row of a table."""

from dataclasses import dataclass
from typing import assert_never

from echomq.clock import Dice
from echomq.records import Completion
from echomq.worker.hold import Hold
from echomq.worker.options import WorkerOptions

__all__ = ["Cancelled", "Drop", "Outcome", "Raised", "Release", "Retry", "Returned", "Verdict", "verdict"]


# --- how a run ended ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler returned."""

    result: bytes | None


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised, or returned what cannot be a result. `error` is bounded text."""

    error: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The handler ended, or never began, because the worker asked it to end."""


Outcome = Returned | Raised | Cancelled


# --- what is done about it ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Retry:
    """Report the attempt as failed: again after `delay_ms`, or dead when no attempt is left."""

    delay_ms: int
    max_attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class Release:
    """Hand the job back, without spending the attempt."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Say nothing to the server: the attempt is not ours any more."""

    reason: str


Verdict = Completion | Retry | Release | Drop


def verdict(hold: Hold, outcome: Outcome, options: WorkerOptions, dice: Dice, *, now_ms: int) -> Verdict:
    """Return what to do about an attempt that ended at `now_ms` of the local monotonic clock.

    A lost lease overrules everything: whoever holds the job now decides about it. A handler that was told to end
    because the worker stops, and failed over it, is handed back: the failure is the stop's.
    """
    if hold.lost is not None:
        return Drop(hold.lost)
    if now_ms >= hold.deadline_ms:
        return Drop("its lease ran out before it was renewed")
    match outcome:
        case Returned(result):
            return Completion(hold.job, hold.token, result, options.result_ttl_ms)
        case Cancelled():
            return Release()
        case Raised(error):
            if hold.is_cancelled:
                return Release()
            delay_ms = options.retry.delay_ms(hold.token, dice)
            return Retry(delay_ms, options.max_attempts, error)
        case _:
            assert_never(outcome)
