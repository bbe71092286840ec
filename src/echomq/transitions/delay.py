"""delay: the holder postpones a job, which keeps its attempts (protocol 4.8)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Delayed, Gone, Stale, Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_due, check_token

__all__ = ["TRANSITION", "delay"]

TRANSITION = Transition(
    name="delay",
    keys=("job", "active", "schedule"),
    args=("id", "token", "mode", "value", "unspent"),
    optional=1,
    repeatable=True,
    section="4.8",
)


def delay(
    keys: QueueKeys,
    job: JobId,
    token: Token,
    *,
    delay_ms: int | None = None,
    at_ms: int | None = None,
    unspent: bool = False,
) -> Call[Delayed | Gone | Stale]:
    """Postpone the job that is held, by `delay_ms` from now or until `at_ms`, Unix ms: exactly one of the two.

    The lease ends and the job waits in schedule. With `unspent` this attempt does not count against its cap. On
    `Stale`, do nothing: another attempt decides. On `Gone`, the job was removed while it ran. Safe to repeat: the
    second answer is `Stale`, unless the job came back and waits ready by then, when it is postponed once more.
    """
    mode, value = check_due(delay_ms=delay_ms, at_ms=at_ms)
    args: tuple[Arg, ...] = (job, check_token(token), mode, value)
    if unspent:
        args = (*args, b"1")
    return Call(TRANSITION, (keys.job(job), keys.active, keys.schedule), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Delayed | Gone | Stale:
    match reply:
        case int(1):
            return Delayed(job)
        case ErrorReply(text="EMQSTALE job gone"):
            return Gone(job)
        case ErrorReply(word="EMQSTALE"):
            return Stale(job)
        case _:
            raise refused(TRANSITION, job, reply)
