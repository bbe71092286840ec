"""complete: the holder of a job reports that it is done (protocol 4.6)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Completed, Gone, Stale, Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_bytes, check_number, check_token

__all__ = ["TRANSITION", "complete", "kept_result"]

TRANSITION = Transition(
    name="complete",
    keys=("active", "job"),
    args=("id", "token", "base", "result_ttl_ms", "result"),
    optional=2,
    repeatable=True,
    section="4.6",
)


def complete(
    keys: QueueKeys, job: JobId, token: Token, *, result: bytes | None = None, result_ttl_ms: int | None = None
) -> Call[Completed | Gone | Stale]:
    """End a job: its row, its lease and everything that hangs on it are deleted, and a flow parent is told.

    With a `result_ttl_ms` above 0 the result is kept that long for `get_result`; an empty result is kept as empty. A
    flow parent is given the result, or the job's id when there is none or it is empty.

    On `Stale`, drop the result: another attempt decides. On `Gone`, the job was completed or removed. Safe to repeat:
    the state is the same, and the second answer is `Gone`, which then means that the first call arrived.
    """
    args: tuple[Arg, ...] = (job, check_token(token), keys.base)
    if result is not None or result_ttl_ms is not None:
        args = (*args, *kept_result(result, result_ttl_ms))
    return Call(TRANSITION, (keys.active, keys.job(job)), args, partial(_answer, job), job)


def kept_result(result: bytes | None, result_ttl_ms: int | None) -> tuple[Arg, Arg]:
    """Return the TTL and the result as they travel, empty for None. Raises `BadInput`."""
    return (
        b"" if result_ttl_ms is None else check_number("result_ttl_ms", result_ttl_ms),
        b"" if result is None else check_bytes("result", result),
    )


def _answer(job: JobId, reply: Reply) -> Completed | Gone | Stale:
    match reply:
        case int(1):
            return Completed(job)
        case int(0):
            return Gone(job)
        case ErrorReply(word="EMQSTALE"):
            return Stale(job)
        case _:
            raise refused(TRANSITION, job, reply)
