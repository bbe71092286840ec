"""reap: take back jobs whose lease lapsed (protocol 4.10)."""

from contextlib import suppress
from functools import partial

from echomq.keys import QueueKeys
from echomq.records import Reaped
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_limit, check_number
from echomq.transitions.replies import Malformed, job_ids

__all__ = ["TRANSITION", "reap"]

TRANSITION = Transition(
    name="reap",
    keys=("active", "pending"),
    # `naming` is empty or `ids`; this handle always asks for the ids.
    args=("base", "limit", "max_attempts", "naming"),
    optional=3,
    repeatable=True,
    section="4.10",
)


def reap(keys: QueueKeys, *, limit: int = 100, max_attempts: int | None = None) -> Call[Reaped]:
    """Take back up to `limit` jobs, 1 to 1000, whose lease has lapsed on the server's clock.

    A job with attempts left is ready again, in its own place; one without any is dead, and so is one that another
    program damaged. The cap is the row's own `max_attempts`, else the one given; None gives rows without one as many
    attempts as they need. When the answer says `more`, call again. Safe to repeat: it takes what has lapsed by then.
    """
    cap = b"" if max_attempts is None else check_number("max_attempts", max_attempts, least=1)
    args = (keys.base, check_limit(limit), cap, b"ids")
    return Call(TRANSITION, (keys.active, keys.pending), args, partial(_answer, keys.queue, limit), keys.queue)


def _answer(queue: str, limit: int, reply: Reply) -> Reaped:
    with suppress(Malformed):
        match reply:
            case [b"reaped", int(count), recovered, dead, ghosts]:
                return Reaped(job_ids(recovered), job_ids(dead), job_ids(ghosts), count >= limit)
            case _:
                pass
    raise refused(TRANSITION, queue, reply)
