"""gwclaim: lease as many jobs of the lane whose turn it is as its weight says (protocol 4.16.3)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.records import Claimed, Paused
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_lease
from echomq.transitions.replies import Malformed, claims_of_lane_or_paused

__all__ = ["TRANSITION", "gwclaim"]

TRANSITION = Transition(
    name="gwclaim",
    keys=("ring", "active", "meta"),
    args=("base", "lease_ms"),
    optional_keys=1,
    repeatable=False,
    section="4.16.3",
)


def gwclaim(keys: QueueKeys, *, lease_ms: int) -> Call[tuple[Claimed, ...] | Paused]:
    """Take the oldest jobs of the next lane, as many as its weight (1 without one) and its limit allow.

    All have one lease of `lease_ms`, counted by the server: run each job and settle it with its token before the lease
    ends, or extend it. An empty tuple means that no lane can be served; on `Paused`, nothing was touched: ask again
    later. The flat set is not looked at. Not safe to repeat: when the answer was lost, jobs may be leased to nobody;
    they come back when their lease ends.
    """
    return Call(
        TRANSITION,
        (keys.ring, keys.active, keys.meta),
        (keys.base, check_lease(lease_ms)),
        partial(_answer, keys.queue),
        keys.queue,
    )


def _answer(queue: str, reply: Reply) -> tuple[Claimed, ...] | Paused:
    try:
        return claims_of_lane_or_paused(reply)
    except Malformed:
        raise refused(TRANSITION, queue, reply) from None
