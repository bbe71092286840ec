"""obliterate: delete a slice of a paused queue, until nothing is left (protocol 4.18.4)."""

from functools import partial

from echomq.batches import BATCH_MAX
from echomq.keys import QueueKeys
from echomq.records import ActiveJobs, MoreToObliterate, NotPaused, Obliterated
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_cursor, check_number

__all__ = ["TRANSITION", "obliterate"]

TRANSITION = Transition(
    name="obliterate",
    keys=("meta", "base"),
    args=("force", "budget", "cursor"),
    optional=2,
    repeatable=True,
    section="4.18.4",
)


def obliterate(
    keys: QueueKeys, *, force: bool = False, budget: int = 1000, cursor: str | None = None
) -> Call[Obliterated | MoreToObliterate | NotPaused | ActiveJobs]:
    """Delete up to `budget` jobs of a paused queue, 1 to 1000, and what else it has among about as many keys.

    Stop its producers first. What one adds meanwhile is deleted whole, or stays whole when it comes last; only
    a grouped job of another speaker can be left without a turn on the ring.

    On `MoreToObliterate`, call again with its `cursor`, until `Obliterated`. On `NotPaused`, pause the queue first. On
    `ActiveJobs`, wait for them to end, or use `force`, after which their holders are told `Gone`. Both changed nothing.
    Safe to repeat; `NotPaused` is then also what a queue says that is deleted already.
    """
    args: tuple[Arg, ...] = (
        b"force" if force else b"",
        check_number("budget", budget, least=1, most=BATCH_MAX),
    )
    if cursor is not None:
        args = (*args, check_cursor(cursor))
    return Call(TRANSITION, (keys.meta, keys.base), args, partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> Obliterated | MoreToObliterate | NotPaused | ActiveJobs:
    match reply:
        case int(0):
            return Obliterated()
        case bytes(cursor) if cursor.isdigit():
            return MoreToObliterate(cursor.decode())
        case ErrorReply(text="EMQSTATE not paused"):
            return NotPaused()
        case ErrorReply(text="EMQSTATE active jobs present"):
            return ActiveJobs()
        case _:
            raise refused(TRANSITION, queue, reply)
