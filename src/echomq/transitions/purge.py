"""purge: delete a slice of the jobs that died long ago (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Purged
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit, check_number
from echomq.transitions.replies import Malformed, next_id

__all__ = ["TRANSITION", "purge"]

TRANSITION = Transition(
    name="purge",
    keys=("dead", "base"),
    args=("age_ms", "limit", "after"),
    repeatable=True,
    section="ours",
)


def purge(keys: QueueKeys, *, age_ms: int, limit: int = 100, after: JobId | None = None) -> Call[Purged]:
    """Look at up to `limit` dead jobs, 1 to 1000, oldest first, and delete those that died `age_ms` ago or earlier.

    A job of another speaker has no instant of death; that of its minting counts. Call again with the `after` of the
    answer until that is None. Safe to repeat.
    """
    args = (check_number("age_ms", age_ms), check_limit(limit), b"" if after is None else JobId.parse(after))
    return Call(TRANSITION, (keys.dead, keys.base), args, partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> Purged:
    with suppress(Malformed):
        match reply:
            case [b"purged", int(count), after]:
                return Purged(count, next_id(after))
            case _:
                pass
    raise refused(TRANSITION, queue, reply)
