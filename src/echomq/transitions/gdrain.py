"""gdrain: delete a slice of the jobs that wait in a lane, oldest first (protocol 4.16.10)."""

from functools import partial

from echomq.keys import QueueKeys, check_group
from echomq.records import Drained
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit

__all__ = ["TRANSITION", "gdrain"]

TRANSITION = Transition(
    name="gdrain",
    keys=("base", "lane", "ring"),
    args=("group", "limit"),
    optional=1,
    repeatable=True,
    section="4.16.10",
)


def gdrain(keys: QueueKeys, lane: str, *, limit: int = 1000) -> Call[Drained]:
    """Delete up to `limit` waiting jobs of the lane, 1 to 1000. Its running, scheduled and dead jobs stay.

    Flow parents are not told. When the answer says `more`, call again. Raises `InvalidName` before anything is sent;
    `WrongType` when another program damaged a key of the lane. Safe to repeat: it deletes what waits by then.
    """
    return Call(
        TRANSITION,
        (keys.base, keys.lane(lane), keys.ring),
        (check_group(lane), check_limit(limit)),
        partial(_answer, keys.queue, limit),
        keys.queue,
    )


def _answer(queue: str, limit: int, reply: Reply) -> Drained:
    match reply:
        case int(count) if count >= 0:
            return Drained(count, count >= limit)
        case _:
            raise refused(TRANSITION, queue, reply)
