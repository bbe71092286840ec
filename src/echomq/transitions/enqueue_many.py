"""enqueue_many: admit many jobs that are ready to run, all in one step (ours, docs/wire.md)."""

from collections.abc import Sequence
from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys, check_group
from echomq.records import Duplicate, Enqueued, NewJob
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_batch, check_bytes, check_cap

__all__ = ["TRANSITION", "enqueue_many"]

TRANSITION = Transition(
    name="enqueue_many",
    keys=("pending", "base"),
    args=(),
    more_args=("id", "payload", "max_attempts", "group"),
    repeatable=True,
    section="ours",
)


def enqueue_many(keys: QueueKeys, jobs: Sequence[NewJob]) -> Call[tuple[Enqueued | Duplicate, ...]]:
    """Admit 1 to 1000 jobs. The answers stand in the order of the jobs; all that are new are admitted, or none is.

    `Duplicate` is a success for whoever repeats a call: a job of this id exists, or stands earlier in the batch, and
    nothing changed for it. Parked workers are woken, as many as can be of use. Raises `InvalidId` or `InvalidName`
    before anything is sent; `KindRefused` or `WrongType` for the whole batch, naming the job or the key at fault. Safe
    to repeat until a job has completed: its row is the memory.
    """
    check_batch("jobs", jobs)
    args: list[Arg] = []
    for new in jobs:
        cap = b"" if new.max_attempts is None else check_cap(new.max_attempts)
        group = b"" if new.lane is None else check_group(new.lane)
        args += (JobId.parse(new.job), check_bytes("payload", new.payload), cap, group)
    ids = tuple([JobId.parse(new.job) for new in jobs])
    return Call(TRANSITION, (keys.pending, keys.base), args, partial(_answer, keys.queue, ids), keys.queue)


def _answer(queue: str, jobs: tuple[JobId, ...], reply: Reply) -> tuple[Enqueued | Duplicate, ...]:
    if isinstance(reply, list) and len(reply) == len(jobs) and all(word in (0, 1) for word in reply):
        return tuple([Enqueued(job) if word == 1 else Duplicate(job) for job, word in zip(jobs, reply, strict=True)])
    raise refused(TRANSITION, queue, reply)
