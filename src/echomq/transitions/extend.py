"""extend: move a leased job's lease forward, if the caller still holds it (protocol 4.12)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Extended, Gone, Stale, Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_lease, check_token

__all__ = ["TRANSITION", "extend"]

TRANSITION = Transition(
    name="extend",
    keys=("active", "job"),
    args=("id", "token", "lease_ms"),
    repeatable=True,
    section="4.12",
)


def extend(keys: QueueKeys, job: JobId, token: Token, *, lease_ms: int) -> Call[Extended | Gone | Stale]:
    """Ask to keep the job that is held: its lease ends `lease_ms` from now, on the server's clock.

    On `Stale`, stop at the next safe point and report nothing: the lease lapsed or another attempt runs. On `Gone`, the
    job was removed while it ran. Safe to repeat.
    """
    args = (job, check_token(token), check_lease(lease_ms))
    return Call(TRANSITION, (keys.active, keys.job(job)), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Extended | Gone | Stale:
    match reply:
        case int(1):
            return Extended(job)
        case int(-1):
            return Gone(job)
        case ErrorReply(word="EMQSTALE"):
            return Stale(job)
        case _:
            raise refused(TRANSITION, job, reply)
