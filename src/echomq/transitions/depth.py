"""depth: how many jobs wait in a lane (protocol 4.16.12)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "depth"]

TRANSITION = Transition(name="depth", keys=("lane",), args=(), repeatable=True, section="4.16.12")


def depth(keys: QueueKeys, lane: str) -> Call[int]:
    """Count the jobs that wait in the lane; those in flight are not among them. 0 for a lane that nobody knows.

    Raises `InvalidName` before anything is sent. Safe to repeat, and cheap: nothing is walked.
    """
    return Call(TRANSITION, (keys.lane(lane),), (), partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> int:
    match reply:
        case int(count) if count >= 0:
            return count
        case _:
            raise refused(TRANSITION, queue, reply)
