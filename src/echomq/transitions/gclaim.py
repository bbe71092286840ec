"""gclaim: lease the oldest job of the lane whose turn it is (protocol 4.16.2)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.records import Claimed, Empty, Paused
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_lease
from echomq.transitions.replies import Malformed, claimed_of_lane

__all__ = ["TRANSITION", "gclaim"]

TRANSITION = Transition(
    name="gclaim",
    keys=("ring", "active", "meta"),
    args=("base", "lease_ms"),
    optional_keys=1,
    repeatable=False,
    section="4.16.2",
)


def gclaim(keys: QueueKeys, *, lease_ms: int) -> Call[Claimed | Empty | Paused]:
    """Take the oldest job of the next lane for `lease_ms`, counted by the server. The flat set is not looked at.

    On `Claimed`, run the job and settle it with the token before the lease ends, or extend it. `Empty` means that no
    lane can be served; on `Paused`, nothing was touched: ask again later. Not safe to repeat: when the answer was lost,
    a job may be leased to nobody; it comes back when its lease ends.
    """
    return Call(
        TRANSITION,
        (keys.ring, keys.active, keys.meta),
        (keys.base, check_lease(lease_ms)),
        partial(_answer, keys.queue),
        keys.queue,
    )


def _answer(queue: str, reply: Reply) -> Claimed | Empty | Paused:
    match reply:
        case [b"paused"]:
            return Paused()
        case []:
            return Empty()
        case _:
            try:
                return claimed_of_lane(reply)
            except Malformed:
                raise refused(TRANSITION, queue, reply) from None
