"""lanes: one page of the lanes, or one lane, with their numbers and settings (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial
from typing import Final

from echomq.errors import InvalidOption
from echomq.keys import QueueKeys, check_group
from echomq.records import LaneInfo, LanePage
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit
from echomq.transitions.replies import Malformed, lane, next_id, number

__all__ = ["TRANSITION", "lanes", "one_lane"]

TRANSITION = Transition(
    name="lanes",
    keys=("base",),
    args=("cursor", "limit", "group"),
    optional=1,
    repeatable=True,
    section="ours",
)

_BYTES: Final = "latin-1"
"""A cursor can hold a name that another speaker gave, of whatever bytes: each is one character of the text."""


def lanes(keys: QueueKeys, *, cursor: str | None = None, limit: int = 100) -> Call[LanePage]:
    """Read up to `limit` lanes, 1 to 1000, after the place of `cursor`, the one of the page before.

    Those with jobs waiting or in flight come first, in byte order, and none of them is missed or told twice unless it
    came or went meanwhile. Those follow that have settings only, or jobs of other speakers: a lane that changes
    meanwhile may be told twice. A page can be empty though more follow: `cursor` is None at the end. Safe to repeat.
    """
    return Call(
        TRANSITION, (keys.base,), (_check_cursor(cursor), check_limit(limit)), partial(_answer, keys.queue), keys.queue
    )


def one_lane(keys: QueueKeys, lane: str) -> Call[LaneInfo]:
    """Read one lane: what waits in it, what runs, and its settings. It costs the same however many lanes there are.

    Of a lane that nothing is known of, since it has neither jobs nor settings, it is told that it has none: zeros, and
    what holds without a setting. Raises `InvalidName` before anything is sent. Safe to repeat.
    """
    group = check_group(lane)
    return Call(TRANSITION, (keys.base,), (b"", b"", group), partial(_answer_one, keys.queue, lane), keys.queue)


def _check_cursor(cursor: str | None) -> bytes:
    if cursor is None:
        return b""
    try:
        if isinstance(cursor, str) and cursor:
            return cursor.encode(_BYTES)
    except UnicodeEncodeError:
        pass
    raise InvalidOption("cursor", cursor, "None, or the cursor of the page before")


def _answer(queue: str, reply: Reply) -> LanePage:
    with suppress(Malformed):
        match reply:
            case [b"lanes", bytes(cursor), list(page)]:
                return LanePage(tuple([_info(told) for told in page]), cursor.decode(_BYTES) or None)
            case _:
                pass
    raise refused(TRANSITION, queue, reply)


def _answer_one(queue: str, name: str, reply: Reply) -> LaneInfo:
    with suppress(Malformed):
        match reply:
            case [b"lanes", b"", []]:
                return LaneInfo(lane=name, depth=0, in_flight=0, limit=None, weight=1, paused=False, oldest=None)
            case [b"lanes", b"", [told]]:
                return _info(told)
            case _:
                pass
    raise refused(TRANSITION, queue, reply)


def _info(reply: Reply) -> LaneInfo:
    match reply:
        case [name, depth, in_flight, limit, weight, (0 | 1) as parked, oldest]:
            return LaneInfo(
                lane=lane(name),
                depth=number(depth),
                in_flight=number(in_flight),
                limit=_setting(limit),
                weight=max(_setting(weight) or 1, 1),
                paused=parked == 1,
                oldest=next_id(oldest),
            )
        case _:
            raise Malformed


def _setting(reply: Reply) -> int | None:
    return None if reply == b"" else number(reply)
