"""schedule: admit one job that becomes ready at an instant (protocol 4.2)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys, check_group
from echomq.records import Duplicate, Scheduled
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_bytes, check_cap, check_due

__all__ = ["TRANSITION", "enqueue_at", "enqueue_in"]

TRANSITION = Transition(
    name="schedule",
    keys=("job", "schedule", "wake"),
    args=("id", "payload", "mode", "value", "max_attempts", "group"),
    optional=2,
    optional_keys=1,
    repeatable=True,
    section="4.2",
)


def enqueue_at(
    keys: QueueKeys,
    job: JobId,
    payload: bytes,
    *,
    at_ms: int,
    lane: str | None = None,
    max_attempts: int | None = None,
) -> Call[Scheduled | Duplicate]:
    """Admit a job for the instant `at_ms`, Unix ms of the server's clock. An instant in the past is due at once.

    Then it is ready in its lane, or in the flat set without one. A parked worker is woken if no job is due earlier.
    `Duplicate` is a success for whoever repeats a call: a job of this id exists, and nothing changed. `max_attempts`
    is a cap of the job's own (our field); None leaves it to the worker. Safe to repeat until the job has completed.
    """
    return _admit(keys, job, payload, check_due(delay_ms=None, at_ms=at_ms), lane, max_attempts)


def enqueue_in(
    keys: QueueKeys,
    job: JobId,
    payload: bytes,
    *,
    delay_ms: int,
    lane: str | None = None,
    max_attempts: int | None = None,
) -> Call[Scheduled | Duplicate]:
    """Admit a job that becomes ready `delay_ms` from now, counted by the server. Else as `enqueue_at`."""
    return _admit(keys, job, payload, check_due(delay_ms=delay_ms, at_ms=None), lane, max_attempts)


def _admit(
    keys: QueueKeys, job: JobId, payload: bytes, due: tuple[bytes, int], lane: str | None, max_attempts: int | None
) -> Call[Scheduled | Duplicate]:
    args: tuple[Arg, ...] = (job, check_bytes("payload", payload), *due)
    cap: Arg = b"" if max_attempts is None else check_cap(max_attempts)
    if lane is not None:
        args = (*args, cap, check_group(lane))
    elif max_attempts is not None:
        args = (*args, cap)
    return Call(TRANSITION, (keys.job(job), keys.schedule, keys.wake), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Scheduled | Duplicate:
    match reply:
        case int(1):
            return Scheduled(job)
        case int(0):
            return Duplicate(job)
        case _:
            raise refused(TRANSITION, job, reply)
