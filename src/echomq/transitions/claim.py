"""claim: lease the oldest ready job of the flat set (protocol 4.4, three-key edition)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Claimed, Empty, Token
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_lease

__all__ = ["TRANSITION", "claim"]

TRANSITION = Transition(
    name="claim",
    keys=("pending", "active", "base"),
    args=("lease_ms",),
    repeatable=False,
    section="4.4",
)


def claim(keys: QueueKeys, *, lease_ms: int) -> Call[Claimed | Empty]:
    """Take the oldest ready job for `lease_ms`, counted by the server. Ask `is_paused` first: this does not.

    On `Claimed`, run the job and settle it with the token before the lease ends, or extend it. `Empty` means that
    nothing is ready. Raises `WrongType` when the oldest row is no hash: nothing was taken, and `remove` clears it away.
    Not safe to repeat: when the answer was lost, a job may be leased to nobody; it comes back when its lease ends.
    """
    return Call(
        TRANSITION,
        (keys.pending, keys.active, keys.base),
        (check_lease(lease_ms),),
        partial(_answer, keys.queue),
        keys.queue,
    )


def _answer(queue: str, reply: Reply) -> Claimed | Empty:
    match reply:
        case [bytes(job), (bytes() | None) as payload, int(token)]:
            return Claimed(JobId.of_server(job), payload, Token(token))
        case []:
            return Empty()
        case _:
            raise refused(TRANSITION, queue, reply)
