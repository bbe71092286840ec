"""gresume: a parked lane is served again (protocol 4.16.7)."""

from functools import partial

from echomq.keys import QueueKeys, check_group
from echomq.records import LaneSet
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "gresume"]

TRANSITION = Transition(
    name="gresume",
    keys=("paused", "ring", "glimit", "gactive", "wake"),
    args=("base", "group"),
    repeatable=True,
    section="4.16.7",
)


def gresume(keys: QueueKeys, lane: str) -> Call[LaneSet]:
    """Serve the lane again, within its limit, and wake parked workers for it. One that is not parked stays as it is.

    Raises `InvalidName` before anything is sent; `WrongType` when another program damaged a key of the lane, which then
    stays parked. Safe to repeat.
    """
    return Call(
        TRANSITION,
        (keys.paused, keys.ring, keys.group_limit, keys.group_active, keys.wake),
        (keys.base, check_group(lane)),
        partial(_answer, keys.queue, lane),
        keys.queue,
    )


def _answer(queue: str, lane: str, reply: Reply) -> LaneSet:
    if reply == 1:
        return LaneSet(lane)
    raise refused(TRANSITION, queue, reply)
