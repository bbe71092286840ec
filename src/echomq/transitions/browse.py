"""browse: one page of a set, in its order or against it (ours, docs/wire.md; protocol 4.11)."""

from contextlib import suppress
from functools import partial
from typing import Final

from echomq.errors import InvalidOption
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import BrowsedJob, Page
from echomq.resp.reply import Reply
from echomq.states import SET_NAMES, SetName
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_limit, check_number
from echomq.transitions.replies import Malformed, job_id, text

__all__ = ["TRANSITION", "browse"]

TRANSITION = Transition(
    name="browse",
    keys=("set",),
    args=("limit", "newest_first", "after_score", "after_id"),
    repeatable=True,
    section="ours",
)

_UNTIMED: Final = (SetName.PENDING, SetName.DEAD)


def browse(
    keys: QueueKeys,
    name: SetName,
    *,
    lane: str | None = None,
    limit: int = 100,
    newest_first: bool | None = None,
    after: BrowsedJob | None = None,
) -> Call[Page]:
    """Read up to `limit` members of a set, 1 to 1000, strictly after the place of `after`.

    With `lane`, which goes with pending alone, the jobs that wait in that lane; without it, those that wait in none.
    Ask for the next page with the `after` of the page before, and the same order. None for `newest_first` means newest
    first in pending and dead, soonest first in active and schedule. A member that came or went between two pages is
    seen or not; no other is seen twice or missed. Raises `InvalidOption`, and `InvalidName` for what cannot be a lane's
    name, before anything is sent. Safe to repeat.
    """
    if name not in SET_NAMES:
        raise InvalidOption("name", name, f"one of {', '.join(SET_NAMES)}")
    name = SetName(name)
    if lane is not None and name is not SetName.PENDING:
        raise InvalidOption("lane", lane, "a lane with pending only: jobs wait in lanes, and are elsewhere in one set")
    backwards = name in _UNTIMED if newest_first is None else newest_first
    place = _place(after)
    set_keys = {
        SetName.PENDING: keys.pending if lane is None else keys.lane(lane),
        SetName.ACTIVE: keys.active,
        SetName.SCHEDULE: keys.schedule,
        SetName.DEAD: keys.dead,
    }
    return Call(
        TRANSITION,
        (set_keys[name],),
        (check_limit(limit), b"1" if backwards else b"", *place),
        partial(_answer, keys.queue, name, limit),
        keys.queue,
    )


def _place(after: BrowsedJob | None) -> tuple[Arg, Arg]:
    if after is None:
        return b"", b""
    if not isinstance(after, BrowsedJob):
        raise InvalidOption("after", after, "None, or the `after` of the page before")
    job = JobId.parse(after.job)
    if after.score is not None:
        return after.score, job
    return (0 if after.at_ms is None else check_number("at_ms", after.at_ms)), job


def _answer(queue: str, name: SetName, limit: int, reply: Reply) -> Page:
    with suppress(Malformed):
        if isinstance(reply, list):
            jobs = tuple([_browsed(name, member) for member in reply])
            return Page(name, jobs, jobs[-1] if len(jobs) >= limit else None)
    raise refused(TRANSITION, queue, reply)


def _browsed(name: SetName, member: Reply) -> BrowsedJob:
    match member:
        case [job, score]:
            return BrowsedJob(job_id(job), None if name in _UNTIMED else _instant(score), text(score))
        case _:
            raise Malformed


def _instant(score: Reply) -> int | None:
    # The instants of this edition are whole; another speaker can have written any number.
    try:
        return int(float(text(score)))
    except OverflowError:
        return None
    except ValueError:
        raise Malformed from None
