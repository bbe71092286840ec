"""drain: delete a slice of the waiting jobs, oldest first (protocol 4.18.3)."""

from functools import partial

from echomq.keys import QueueKeys
from echomq.records import Drained
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit

__all__ = ["TRANSITION", "drain"]

TRANSITION = Transition(
    name="drain",
    # The third key is left out when scheduled jobs stay.
    keys=("base", "pending", "schedule"),
    args=("limit",),
    optional=1,
    optional_keys=1,
    repeatable=True,
    section="4.18.3",
)


def drain(keys: QueueKeys, *, schedule: bool = False, limit: int = 1000) -> Call[Drained]:
    """Delete up to `limit` ready jobs of the flat set, 1 to 1000, and with `schedule` those that wait for an instant.

    Running and dead jobs and the lanes stay. Flow parents are not told. When the answer says `more`, call again. Safe
    to repeat: it deletes what waits by then.
    """
    base_keys = (keys.base, keys.pending)
    return Call(
        TRANSITION,
        (*base_keys, keys.schedule) if schedule else base_keys,
        (check_limit(limit),),
        partial(_answer, keys.queue, limit),
        keys.queue,
    )


def _answer(queue: str, limit: int, reply: Reply) -> Drained:
    match reply:
        case int(count) if count >= 0:
            return Drained(count, count >= limit)
        case _:
            raise refused(TRANSITION, queue, reply)
