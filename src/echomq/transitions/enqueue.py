"""enqueue: admit one job that is ready to run (protocol 4.1)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Duplicate, Enqueued
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_bytes, check_cap

__all__ = ["TRANSITION", "enqueue"]

TRANSITION = Transition(
    name="enqueue",
    keys=("job", "pending", "wake"),
    args=("id", "payload", "max_attempts"),
    optional=1,
    optional_keys=1,
    repeatable=True,
    section="4.1",
)


def enqueue(
    keys: QueueKeys, job: JobId, payload: bytes, *, max_attempts: int | None = None
) -> Call[Enqueued | Duplicate]:
    """Admit a job: gate its kind, refuse a duplicate, write its row, insert it into pending. All four or none.

    A parked worker is woken. `Duplicate` is a success for whoever repeats a call: a job of this id exists, and nothing
    changed. `max_attempts` is a cap of the job's own (our field); None leaves it to the worker. Safe to repeat until
    the job has completed: its row is the memory.
    """
    args: tuple[Arg, ...] = (job, check_bytes("payload", payload))
    if max_attempts is not None:
        args = (*args, check_cap(max_attempts))
    return Call(TRANSITION, (keys.job(job), keys.pending, keys.wake), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Enqueued | Duplicate:
    if reply == 1:
        return Enqueued(job)
    if reply == 0:
        return Duplicate(job)
    raise refused(TRANSITION, job, reply)
