"""Reads the parts of replies strictly: what does not have the expected form raises `Malformed`.

A decoder works inside ``with suppress(Malformed)`` and ends with `refused`, so that a reply of a wrong form becomes one
`UnexpectedReply` which shows all of it.
"""

from echomq.ids import JobId
from echomq.resp.reply import Reply
from echomq.states import JobState

__all__ = ["Malformed", "job_id", "job_ids", "next_id", "number", "state", "text"]


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


def next_id(reply: Reply) -> JobId | None:
    """Return the id that a walk goes on after; the server says empty at its end."""
    return job_id(reply) if reply != b"" else None


def state(reply: Reply) -> JobState:
    """Return the state that a row says. A word that no speaker writes is `JobState.UNKNOWN`."""
    try:
        return JobState(text(reply).decode("utf-8", "replace"))
    except ValueError:
        return JobState.UNKNOWN
