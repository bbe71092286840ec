"""take: lease jobs for a worker's free slots, lanes and flat set in turn (ours, docs/wire.md)."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from echomq.batches import BATCH_MAX
from echomq.errors import InvalidOption
from echomq.keys import QueueKeys
from echomq.records import Awaited, Paused, Taken
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_lease, check_number, check_watcher
from echomq.transitions.replies import Malformed, claimed_of_lane, job_ids, number

__all__ = ["BLOCKING", "PARK_MS_MAX", "TRANSITION", "take", "take_blocking"]

TRANSITION = Transition(
    name="take",
    keys=("ring", "pending", "active", "meta", "wake", "dead", "base"),
    args=("lease_ms", "size", "worth", "watcher", "park_ms"),
    optional=3,
    repeatable=False,
    section="ours",
)

BLOCKING = replace(TRANSITION, args=(*TRANSITION.args, "block", "block_ms"), optional=0, waits=True)
"""EMQ.TAKE … BLOCK, which is the module's alone."""

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
    args = _args(lease_ms, size, worth, watcher, park_ms)
    return Call(TRANSITION, _lists(keys), args, partial(_answer, keys.queue), keys.queue)


def take_blocking(
    keys: QueueKeys,
    *,
    lease_ms: int,
    size: int,
    worth: bytes = b"",
    watcher: str | None = None,
    park_ms: int = 1000,
    block_ms: int,
) -> Call[Awaited]:
    """Take as `take` does, and where that finds nothing wait on the server for `block_ms`, 1 to 3600000, at most.

    It is answered as soon as there is something for it, when the wait is over, at the instant that it should watch for,
    and at once when it begins to watch for one: so the caller always knows it. Tokens that come meanwhile are taken off
    and used up by the server. Only a server with the module can do it, over a connection of its own. Not safe to
    repeat, as `take`: jobs may be leased to nobody when the answer was lost.
    """
    wait = (b"BLOCK", check_number("block_ms", block_ms, least=1, most=PARK_MS_MAX))
    args = (*_args(lease_ms, size, worth, watcher, park_ms), *wait)
    return Call(BLOCKING, _lists(keys), args, partial(_awaited, keys.queue), keys.queue)


def _lists(keys: QueueKeys) -> tuple[bytes, ...]:
    return (keys.ring, keys.pending, keys.active, keys.meta, keys.wake, keys.dead, keys.base)


def _args(lease_ms: int, size: int, worth: bytes, watcher: str | None, park_ms: int) -> tuple[Arg, ...]:
    return (
        check_lease(lease_ms),
        check_number("size", size, least=1, most=BATCH_MAX),
        _check_worth(worth),
        check_watcher(watcher),
        check_number("park_ms", park_ms, least=1, most=PARK_MS_MAX),
    )


def _check_worth(worth: bytes) -> bytes:
    if not isinstance(worth, bytes):
        raise InvalidOption("worth", worth, "the bytes of a token, b'beat', or empty")
    return worth


def _answer(queue: str, reply: Reply) -> Taken | Paused:
    with suppress(Malformed):
        return _taken(reply)
    raise refused(TRANSITION, queue, reply)


def _awaited(queue: str, reply: Reply) -> Awaited:
    with suppress(Malformed):
        match reply:
            case [b"empty", 0, 0, 0, [], [], int(ms)]:
                return Awaited(None, ms)  # else what found nothing names a time to wait, or says that something is due
            case [*told, int(ms)]:
                return Awaited(_taken(told), max(0, ms), may_wait=ms >= 0)
            case ErrorReply(word="UNBLOCKED"):
                return Awaited(None, 0)  # by an operator, or by a failover
            case _:
                pass
    raise refused(BLOCKING, queue, reply)


def _taken(reply: Reply) -> Taken | Paused:
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
            raise Malformed
