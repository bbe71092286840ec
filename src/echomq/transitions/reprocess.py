"""reprocess: make a dead job ready again (protocol 4.15)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, NotDead, Reprocessed
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "reprocess"]

TRANSITION = Transition(
    name="reprocess",
    keys=("job", "dead", "pending"),
    args=("id", "fresh"),
    optional=1,
    repeatable=True,
    section="4.15",
)


def reprocess(keys: QueueKeys, job: JobId, *, fresh: bool = False) -> Call[Reprocessed | NotDead | Gone]:
    """Make a dead job ready again, in its own place.

    With `fresh` its cap counts anew; without it the first failure kills it again, unless its cap was raised. On
    `NotDead`, nothing changed. On `Gone`, there is no such job. Safe to repeat: the second answer is `NotDead`.
    """
    args = (job, b"1") if fresh else (job,)
    return Call(TRANSITION, (keys.job(job), keys.dead, keys.pending), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Reprocessed | NotDead | Gone:
    match reply:
        case int(1):
            return Reprocessed(job)
        case int(-1):
            return Gone(job)
        case ErrorReply(word="EMQSTATE"):
            return NotDead(job)
        case _:
            raise refused(TRANSITION, job, reply)
