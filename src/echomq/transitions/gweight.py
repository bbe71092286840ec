"""gweight: set the share of a lane in a turn of the rota, or take it away (protocol 4.16.5)."""

from functools import partial

from echomq.keys import QueueKeys, check_group
from echomq.records import LaneSet
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_weight

__all__ = ["TRANSITION", "gweight"]

TRANSITION = Transition(name="gweight", keys=("gweight",), args=("group", "weight"), repeatable=True, section="4.16.5")


def gweight(keys: QueueKeys, lane: str, weight: int | None) -> Call[LaneSet]:
    """Let the lane serve up to `weight` jobs in a turn, 1 to 1000; None takes the weight away, which stands for 1.

    It holds from the lane's next turn on. Raises `InvalidName` or `InvalidOption` before anything is sent. Safe to
    repeat.
    """
    return Call(
        TRANSITION,
        (keys.group_weight,),
        (check_group(lane), check_weight(weight)),
        partial(_answer, keys.queue, lane),
        keys.queue,
    )


def _answer(queue: str, lane: str, reply: Reply) -> LaneSet:
    if reply == 1:
        return LaneSet(lane)
    raise refused(TRANSITION, queue, reply)
