"""greap_group: take back the jobs of one lane whose lease lapsed (protocol 4.16.11)."""

from functools import partial

from echomq.keys import QueueKeys, check_group
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_limit, check_number

__all__ = ["TRANSITION", "greap_group"]

TRANSITION = Transition(
    name="greap_group",
    keys=("active", "base"),
    args=("group", "limit", "max_attempts"),
    optional=2,
    repeatable=True,
    section="4.16.11",
)


def greap_group(keys: QueueKeys, lane: str, *, limit: int = 100, max_attempts: int | None = None) -> Call[int]:
    """Take back the lapsed jobs of the lane among the first `limit` lapsed ones of the queue, 1 to 1000.

    Returns how many were taken back: each is ready again or, with no attempt left, dead, as by `reap`, whose
    `max_attempts` it is as well. The lapsed jobs of other lanes stay, so a further call may look at the same ones:
    `reap` takes back all. Raises `InvalidName` or `InvalidOption` before anything is sent. Safe to repeat.
    """
    args: tuple[Arg, ...] = (check_group(lane), check_limit(limit))
    if max_attempts is not None:
        args = (*args, check_number("max_attempts", max_attempts, least=1))
    return Call(TRANSITION, (keys.active, keys.base), args, partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> int:
    match reply:
        case int(count) if count >= 0:
            return count
        case _:
            raise refused(TRANSITION, queue, reply)
