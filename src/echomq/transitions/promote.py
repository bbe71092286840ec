"""promote: make due jobs ready (protocol 4.9)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.records import PromotedMany
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit

__all__ = ["TRANSITION", "promote"]

TRANSITION = Transition(
    name="promote",
    keys=("schedule", "pending"),
    args=("base", "limit"),
    optional=1,
    repeatable=True,
    section="4.9",
)


def promote(keys: QueueKeys, *, limit: int = 100) -> Call[PromotedMany]:
    """Make up to `limit` jobs ready, 1 to 1000, whose instant has come on the server's clock, soonest first.

    Each goes to its own place, or to dead when that place is damaged. When the answer says `more`, call again. Safe to
    repeat: it takes what is due by then.
    """
    return Call(
        TRANSITION,
        (keys.schedule, keys.pending),
        (keys.base, check_limit(limit)),
        partial(_answer, keys.queue, limit),
        keys.queue,
    )


def _answer(queue: str, limit: int, reply: Reply) -> PromotedMany:
    match reply:
        case int(count) if count >= 0:
            return PromotedMany(count, count >= limit)
        case _:
            raise refused(TRANSITION, queue, reply)
