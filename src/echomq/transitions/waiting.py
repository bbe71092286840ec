"""waiting: how many jobs wait in a slice of the lanes (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial

from echomq.batches import BATCH_MAX
from echomq.errors import InvalidOption
from echomq.keys import QueueKeys
from echomq.records import WaitingJobs
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit
from echomq.transitions.replies import Malformed, text

__all__ = ["TRANSITION", "waiting"]

TRANSITION = Transition(name="waiting", keys=("base",), args=("after", "limit"), repeatable=True, section="ours")


def waiting(keys: QueueKeys, *, after: bytes | None = None, limit: int = BATCH_MAX) -> Call[WaitingJobs]:
    """Count the jobs that wait in up to `limit` lanes, 1 to 1000, after the one that `after` names.

    Live lanes only, in byte order: a lane of another speaker counts from when a claim has met it. Call again with the
    `after` of the answer until that is None, and add up. The server is asked once for each lane of the slice. Safe to
    repeat.
    """
    return Call(
        TRANSITION, (keys.base,), (_check_after(after), check_limit(limit)), partial(_answer, keys.queue), keys.queue
    )


def _check_after(after: bytes | None) -> bytes:
    if after is None:
        return b""
    if not isinstance(after, bytes) or not after:
        raise InvalidOption("after", after, "None, or that of the answer before")
    return after


def _answer(queue: str, reply: Reply) -> WaitingJobs:
    with suppress(Malformed):
        match reply:
            case [b"waiting", int(count), after] if count >= 0:
                return WaitingJobs(count, text(after) or None)
            case _:
                pass
    raise refused(TRANSITION, queue, reply)
