"""wake: a worker that parks no more passes on the wake-up it may have got (ours, docs/wire.md)."""

from functools import partial

from echomq.batches import BATCH_MAX
from echomq.keys import QueueKeys
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_number, check_watcher

__all__ = ["TRANSITION", "wake"]

TRANSITION = Transition(
    name="wake",
    keys=("wake", "ring", "pending", "base"),
    args=("worth", "watcher"),
    optional=1,
    repeatable=True,
    section="ours",
)


def wake(keys: QueueKeys, *, worth: int, watcher: str | None = None) -> Call[bool]:
    """Say that this caller parks no more, and wake another parked one for it, worth 1 to 1000 wake-ups.

    True: one was left. False: nothing can be served, or one lies there already. If the caller watched for what is due
    under the name `watcher`, somebody else does from now on. For whoever stops while a wake-up may be on its way to it.
    Safe to repeat: at most one wake-up is left.
    """
    return Call(
        TRANSITION,
        (keys.wake, keys.ring, keys.pending, keys.base),
        (check_number("worth", worth, least=1, most=BATCH_MAX), check_watcher(watcher)),
        partial(_answer, keys.queue),
        keys.queue,
    )


def _answer(queue: str, reply: Reply) -> bool:
    if reply in (0, 1):
        return reply == 1
    raise refused(TRANSITION, queue, reply)
