"""release: the holder hands a job back, and the attempt is not spent (ours, docs/wire.md)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, Released, Stale, Token
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_token

__all__ = ["TRANSITION", "release"]

TRANSITION = Transition(
    name="release",
    keys=("active", "job", "base"),
    args=("id", "token"),
    repeatable=True,
    section="ours",
)


def release(keys: QueueKeys, job: JobId, token: Token) -> Call[Released | Stale | Gone]:
    """Hand a leased job back: it is ready at once, in its own place, and the attempt does not count against its cap.

    On `Stale`, do nothing: the lease lapsed or another attempt decides. On `Gone`, the job was removed while it ran.
    Safe to repeat: the second answer is `Stale`, which then means that the first call arrived.
    """
    return Call(
        TRANSITION,
        (keys.active, keys.job(job), keys.base),
        (job, check_token(token)),
        partial(_answer, job),
        job,
    )


def _answer(job: JobId, reply: Reply) -> Released | Stale | Gone:
    match reply:
        case [b"released"]:
            return Released(job)
        case [b"stale"]:
            return Stale(job)
        case [b"gone"]:
            return Gone(job)
        case _:
            raise refused(TRANSITION, job, reply)
