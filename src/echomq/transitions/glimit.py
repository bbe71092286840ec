"""glimit: set the largest number of a lane's jobs in flight, or take the limit away (protocol 4.16.8)."""

from functools import partial

from echomq.keys import QueueKeys, check_group
from echomq.records import LaneSet
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_in_flight

__all__ = ["TRANSITION", "glimit"]

TRANSITION = Transition(
    name="glimit",
    keys=("glimit", "gactive", "ring", "paused", "wake"),
    args=("base", "group", "most"),
    repeatable=True,
    section="4.16.8",
)


def glimit(keys: QueueKeys, lane: str, most: int | None) -> Call[LaneSet]:
    """Let at most `most` jobs of the lane run at a time, 1 to `IN_FLIGHT_MAX`; None takes the limit away.

    Jobs that run already, more than a lowered limit allows, end in their own time; a raised one wakes parked workers.
    Raises `InvalidName` or `InvalidOption` before anything is sent; `WrongType` when another program damaged a key of
    the lane, and nothing changed. Safe to repeat.
    """
    return Call(
        TRANSITION,
        (keys.group_limit, keys.group_active, keys.ring, keys.paused, keys.wake),
        (keys.base, check_group(lane), check_in_flight("limit", "lane", most)),
        partial(_answer, keys.queue, lane),
        keys.queue,
    )


def _answer(queue: str, lane: str, reply: Reply) -> LaneSet:
    if reply == 1:
        return LaneSet(lane)
    raise refused(TRANSITION, queue, reply)
