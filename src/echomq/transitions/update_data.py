"""update_data: replace a job's payload (protocol 4.13)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, Stale, Token, Updated
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_bytes, check_token

__all__ = ["TRANSITION", "update_data"]

TRANSITION = Transition(
    name="update_data",
    keys=("job",),
    args=("payload", "token"),
    optional=1,
    repeatable=True,
    section="4.13",
)


def update_data(
    keys: QueueKeys, job: JobId, payload: bytes, *, token: Token | None = None
) -> Call[Updated | Gone | Stale]:
    """Replace a job's payload; the next attempt gets it.

    Whoever runs the job gives the token, and on `Stale` stops: another attempt runs. Without one, whoever asks may. On
    `Gone`, there is no such job. Safe to repeat.
    """
    args: tuple[Arg, ...] = (check_bytes("payload", payload),)
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
