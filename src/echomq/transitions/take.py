"""take: lease jobs for a worker's free slots, lanes and flat set in turn (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial
from typing import Final

from echomq.batches import BATCH_MAX
from echomq.errors import InvalidOption
from echomq.keys import QueueKeys
from echomq.records import Paused, Taken
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_lease, check_number, check_watcher
from echomq.transitions.replies import Malformed, claimed_of_lane, job_ids, number

__all__ = ["PARK_MS_MAX", "TRANSITION", "take"]

TRANSITION = Transition(
    name="take",
    keys=("ring", "pending", "active", "meta", "wake", "dead", "base"),
    args=("lease_ms", "size", "worth", "watcher", "park_ms"),
    optional=3,
    repeatable=False,
    section="ours",
)

PARK_MS_MAX: Final = 3_600_000
"""The longest that a worker may offer to park: an hour, in ms."""


def take(
    keys: QueueKeys,
    *,
    lease_ms: int,
    size: int,
    worth: bytes = b"",
    watcher: str | None = None,
    park_ms: int = 1000,
) -> Call[Taken | Paused]:
    """Take up to `size` jobs, 1 to 1000, for `lease_ms` counted by the server: lanes and flat set in turn.

    `worth` is the text of the token that woke the caller, ``b"beat"`` if it was parked and nobody woke it, else empty:
    what the token is worth beyond the jobs of the answer is handed on to another parked worker. `watcher` names the
    caller: the one that is told a shorter `wait_ms` than it offered looks after what is due then, and every other may
    park for `park_ms`, 1 to 3600000. Without a name nobody is told to.

    On `Taken`, run each job and settle it with its token before the lease ends, or extend it; there may be none.
    `more` says to take again as soon as there is room; `due`, to promote and reap; else the caller may park for
    `wait_ms`. A caller that does not park after all says so with `wake`. `broken` are ids that lie in dead. On
    `Paused`, nothing was touched: ask again later. Not safe to repeat: when the answer was lost, jobs may be leased to
    nobody; they come back when their lease ends.
    """
    args = (
        check_lease(lease_ms),
        check_number("size", size, least=1, most=BATCH_MAX),
        _check_worth(worth),
        check_watcher(watcher),
        check_number("park_ms", park_ms, least=1, most=PARK_MS_MAX),
    )
    lists = (keys.ring, keys.pending, keys.active, keys.meta, keys.wake, keys.dead, keys.base)
    return Call(TRANSITION, lists, args, partial(_answer, keys.queue), keys.queue)


def _check_worth(worth: bytes) -> bytes:
    if not isinstance(worth, bytes):
        raise InvalidOption("worth", worth, "the bytes of a token, b'beat', or empty")
    return worth


def _answer(queue: str, reply: Reply) -> Taken | Paused:
    with suppress(Malformed):
        match reply:
            case [b"taken" | b"empty" | b"full" as word, 0 | 1 as more, 0 | 1 as due, wait, broken, list(jobs)]:
                return Taken(
                    tuple([claimed_of_lane(job) for job in jobs]),
                    more=more == 1,
                    full=word == b"full",
                    due=due == 1,
                    wait_ms=number(wait),
                    broken=job_ids(broken),
                )
            case [b"paused"]:
                return Paused()
            case _:
                pass
    raise refused(TRANSITION, queue, reply)
