"""reprocess_many: make a slice of the dead jobs ready again (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import ReprocessedMany
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit
from echomq.transitions.replies import Malformed, next_id

__all__ = ["TRANSITION", "reprocess_many"]

TRANSITION = Transition(
    name="reprocess_many",
    keys=("dead", "base"),
    args=("limit", "after", "fresh"),
    repeatable=True,
    section="ours",
)


def reprocess_many(
    keys: QueueKeys, *, limit: int = 100, after: JobId | None = None, fresh: bool = False
) -> Call[ReprocessedMany]:
    """Look at up to `limit` dead jobs, 1 to 1000, oldest first, and make each ready again as `reprocess` does.

    Call again with the `after` of the answer until that is None. Jobs with a broken row stay. Safe to repeat.
    """
    args = (check_limit(limit), b"" if after is None else JobId.parse(after), b"1" if fresh else b"")
    return Call(TRANSITION, (keys.dead, keys.base), args, partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> ReprocessedMany:
    with suppress(Malformed):
        match reply:
            case [b"reprocessed", int(count), after]:
                return ReprocessedMany(count, next_id(after))
            case _:
                pass
    raise refused(TRANSITION, queue, reply)
