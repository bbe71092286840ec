"""update_progress: write a job's progress and tell whoever listens (protocol 4.13, 5.1)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, Stale, Token, Updated
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_progress, check_token

__all__ = ["TRANSITION", "update_progress"]

TRANSITION = Transition(
    name="update_progress",
    keys=("job",),
    args=("progress", "id", "base", "token"),
    optional=1,
    repeatable=True,
    section="4.13",
)


def update_progress(
    keys: QueueKeys, job: JobId, progress: bytes, *, token: Token | None = None
) -> Call[Updated | Gone | Stale]:
    """Write a job's progress, text as UTF-8 of at most 4 KiB, and publish it on the queue's channel as an event.

    The event is sent at most once: a server that does not let this user publish writes the progress all the same.
    Whoever runs the job gives the token, and on `Stale` stops: another attempt runs. Without one, whoever asks may. On
    `Gone`, there is no such job. Safe to repeat, though listeners hear it again.
    """
    args: tuple[Arg, ...] = (check_progress(progress), job, keys.base)
    if token is not None:
        args = (*args, check_token(token))
    return Call(TRANSITION, (keys.job(job),), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Updated | Gone | Stale:
    match reply:
        case int(1):
            return Updated(job)
        case int(-1):
            return Gone(job)
        case ErrorReply(word="EMQSTALE"):
            return Stale(job)
        case _:
            raise refused(TRANSITION, job, reply)
