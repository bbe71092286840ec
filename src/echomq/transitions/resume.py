"""resume: claimers may take jobs from this queue again (protocol 4.18.2)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.records import Resumed
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "resume"]

TRANSITION = Transition(
    name="resume", keys=("meta", "base"), args=(), optional_keys=1, repeatable=True, section="4.18.2"
)


def resume(keys: QueueKeys) -> Call[Resumed]:
    """End the pause of the queue and wake parked workers. One that is not paused stays as it is. Safe to repeat."""
    return Call(TRANSITION, (keys.meta, keys.base), (), partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> Resumed:
    if reply == 1:
        return Resumed()
    raise refused(TRANSITION, queue, reply)
