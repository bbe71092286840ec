"""gpause: park a lane: it is not served until it is resumed (protocol 4.16.6)."""

from functools import partial

from echomq.keys import QueueKeys, check_group
from echomq.records import LaneSet
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "gpause"]

TRANSITION = Transition(name="gpause", keys=("paused", "ring"), args=("group",), repeatable=True, section="4.16.6")


def gpause(keys: QueueKeys, lane: str) -> Call[LaneSet]:
    """Park the lane: its jobs wait, new ones join them, and those that run go on. Other lanes are served as before.

    A lane can be parked before it has any job. Takes time in proportion to the lanes that have work. Raises
    `InvalidName` before anything is sent. Safe to repeat.
    """
    return Call(
        TRANSITION, (keys.paused, keys.ring), (check_group(lane),), partial(_answer, keys.queue, lane), keys.queue
    )


def _answer(queue: str, lane: str, reply: Reply) -> LaneSet:
    if reply == 1:
        return LaneSet(lane)
    raise refused(TRANSITION, queue, reply)
