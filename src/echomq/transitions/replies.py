"""Reads the parts of replies strictly: what does not have the expected form raises `Malformed`.

A decoder works inside ``with suppress(Malformed)`` and ends with `refused`, so that a reply of a wrong form becomes one
`UnexpectedReply` which shows all of it.
"""

from echomq.ids import JobId
from echomq.records import Claimed, Paused, Token
from echomq.resp.reply import Reply
from echomq.states import JobState

__all__ = [
    "Malformed",
    "claimed_of_lane",
    "claims_of_lane_or_paused",
    "job_id",
    "job_ids",
    "lane",
    "next_id",
    "number",
    "state",
    "text",
]


class Malformed(Exception):
    """A part of a reply has another form than the transition states. Never leaves a decoder."""


def text(reply: Reply) -> bytes:
    """Return a text of the server as bytes."""
    if not isinstance(reply, bytes):
        raise Malformed
    return reply


def number(reply: Reply) -> int:
    """Return a whole number that came as an integer or, as large ones do, as decimal text."""
    if isinstance(reply, int) and not isinstance(reply, bool):
        return reply
    try:
        return int(text(reply))
    except ValueError:
        raise Malformed from None


def job_id(reply: Reply) -> JobId:
    """Return an id that stands in a set, as it is: another speaker may have admitted one of a strange form."""
    return JobId.of_server(text(reply))


def job_ids(reply: Reply) -> tuple[JobId, ...]:
    """Return a list of ids."""
    if not isinstance(reply, list):
        raise Malformed
    return tuple(job_id(item) for item in reply)


def lane(reply: Reply) -> str:
    """Return the name of a lane. What another speaker named otherwise than in UTF-8 is shown with replacements."""
    return text(reply).decode("utf-8", "replace")


def claimed_of_lane(reply: Reply) -> Claimed:
    """Return a leased attempt that came with the name of its lane; empty stands for the flat set."""
    match reply:
        case [job, (bytes() | None) as payload, token, group]:
            return Claimed(job_id(job), payload, Token(number(token)), lane(group) or None)
        case _:
            raise Malformed


def claims_of_lane_or_paused(reply: Reply) -> tuple[Claimed, ...] | Paused:
    """Return a list of leased attempts with the names of their lanes, or that the queue is paused."""
    if reply == [b"paused"]:
        return Paused()
    if not isinstance(reply, list):
        raise Malformed
    return tuple([claimed_of_lane(item) for item in reply])


def next_id(reply: Reply) -> JobId | None:
    """Return the id that a walk goes on after; the server says empty at its end."""
    return job_id(reply) if reply != b"" else None


def state(reply: Reply) -> JobState:
    """Return the state that a row says. A word that no speaker writes is `JobState.UNKNOWN`."""
    try:
        return JobState(text(reply).decode("utf-8", "replace"))
    except ValueError:
        return JobState.UNKNOWN
