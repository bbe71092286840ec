"""set_concurrency: set the ceiling of the queue's jobs in flight, or take it away (ours, docs/wire.md)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.records import ConcurrencySet
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_in_flight

__all__ = ["TRANSITION", "set_concurrency"]

TRANSITION = Transition(
    name="set_concurrency",
    keys=("meta", "base"),
    args=("most",),
    repeatable=True,
    section="ours",
)


def set_concurrency(keys: QueueKeys, most: int | None) -> Call[ConcurrencySet]:
    """Let at most `most` jobs of the queue run at a time, 1 to `IN_FLIGHT_MAX`; None takes the ceiling away.

    `take` and `claim_many` honour it. Jobs that run already, more than a lowered ceiling allows, end in their own time;
    a raised one wakes parked workers. Safe to repeat.
    """
    return Call(
        TRANSITION,
        (keys.meta, keys.base),
        (check_in_flight("ceiling", "queue", most),),
        partial(_answer, keys.queue, most),
        keys.queue,
    )


def _answer(queue: str, most: int | None, reply: Reply) -> ConcurrencySet:
    if reply == 1:
        return ConcurrencySet(most)
    raise refused(TRANSITION, queue, reply)
