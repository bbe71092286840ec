"""genqueue: admit one job that is ready to run into a lane (protocol 4.16.1)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys, check_group
from echomq.records import Duplicate, Enqueued
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_bytes, check_cap

__all__ = ["TRANSITION", "genqueue"]

TRANSITION = Transition(
    name="genqueue",
    keys=("job", "lane", "ring", "paused", "glimit", "gactive", "wake", "lanes"),
    args=("id", "payload", "group", "max_attempts"),
    optional=1,
    optional_keys=1,
    repeatable=True,
    section="4.16.1",
)


def genqueue(
    keys: QueueKeys, job: JobId, payload: bytes, *, lane: str, max_attempts: int | None = None
) -> Call[Enqueued | Duplicate]:
    """Admit a job into a lane: as `enqueue`, and a parked worker is woken if the lane can be served.

    `Duplicate` is a success for whoever repeats a call: a job of this id exists, in whatever lane, and nothing changed.
    Raises `InvalidName` for a name that is none, before anything is sent. Safe to repeat until the job has completed.
    """
    args: tuple[Arg, ...] = (job, check_bytes("payload", payload), check_group(lane))
    if max_attempts is not None:
        args = (*args, check_cap(max_attempts))
    return Call(
        TRANSITION,
        (
            keys.job(job),
            keys.lane(lane),
            keys.ring,
            keys.paused,
            keys.group_limit,
            keys.group_active,
            keys.wake,
            keys.lanes,
        ),
        args,
        partial(_answer, job),
        job,
    )


def _answer(job: JobId, reply: Reply) -> Enqueued | Duplicate:
    match reply:
        case int(1):
            return Enqueued(job)
        case int(0):
            return Duplicate(job)
        case _:
            raise refused(TRANSITION, job, reply)
