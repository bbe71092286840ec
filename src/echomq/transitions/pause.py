"""pause: claimers take nothing from this queue until resume (protocol 4.18.2)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.records import Paused
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "pause"]

TRANSITION = Transition(name="pause", keys=("meta",), args=(), repeatable=True, section="4.18.2")


def pause(keys: QueueKeys) -> Call[Paused]:
    """Pause the queue: nothing is claimed until `resume`. What runs goes on, and jobs can be admitted.

    A claimer that asked `is_paused` just before may still take one job; `claim_many` does not. Safe to repeat.
    """
    return Call(TRANSITION, (keys.meta,), (), partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> Paused:
    if reply == 1:
        return Paused()
    raise refused(TRANSITION, queue, reply)
