"""remove: delete a job from wherever it is (protocol 4.14)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, Locked, Removed
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "remove"]

TRANSITION = Transition(
    name="remove",
    keys=("job", "pending", "active", "schedule", "dead", "dedup"),
    args=("id", "did"),
    repeatable=True,
    section="4.14",
)


def remove(keys: QueueKeys, job: JobId, *, dedup_id: str | None = None) -> Call[Removed | Gone | Locked]:
    """Delete a job wherever it is, with its log and its kept result; `dedup_id` is freed if it names this job.

    A job that runs is deleted as well: its holder is told `Gone` when it settles. On `Locked`, a worker of another
    speaker holds it: nothing changed, try again later. On `Gone`, there is no such job. A row that another program
    replaced is cleared away. A flow parent is not told. Raises `InvalidName` for a dedup id outside its characters.
    Safe to repeat: the second answer is `Gone`.
    """
    dedup_key = keys.base + b"de:" if dedup_id is None else keys.dedup(dedup_id)
    return Call(
        TRANSITION,
        (keys.job(job), keys.pending, keys.active, keys.schedule, keys.dead, dedup_key),
        (job, b"" if dedup_id is None else dedup_id.encode()),
        partial(_answer, job),
        job,
    )


def _answer(job: JobId, reply: Reply) -> Removed | Gone | Locked:
    match reply:
        case int(1):
            return Removed(job)
        case int(-1):
            return Gone(job)
        case ErrorReply(word="EMQLOCK"):
            return Locked(job)
        case _:
            raise refused(TRANSITION, job, reply)
