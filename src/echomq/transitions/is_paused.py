"""is_paused: the pause gate before each published claim (protocol 0)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "is_paused"]

TRANSITION = Transition(name="is_paused", keys=("meta",), args=(), repeatable=True, section="0")


def is_paused(keys: QueueKeys) -> Call[bool]:
    """Ask whether the queue is paused; if so, claim nothing. A pause may come in the very next moment.

    `claim_many` looks by itself, in the same step. Safe to repeat.
    """
    return Call(TRANSITION, (keys.meta,), (), partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> bool:
    if reply is None:
        return False
    if isinstance(reply, bytes):
        return True
    raise refused(TRANSITION, queue, reply)
