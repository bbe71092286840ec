"""promote_now: make one scheduled job ready at once (ours, docs/wire.md)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, NotScheduled, Promoted
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "promote_now"]

TRANSITION = Transition(
    name="promote_now",
    keys=("job", "schedule", "base"),
    args=("id",),
    repeatable=True,
    section="ours",
)


def promote_now(keys: QueueKeys, job: JobId) -> Call[Promoted | NotScheduled | Gone]:
    """Make a scheduled job ready at once, in its own place, whenever it would be due.

    `NotScheduled` means that it stands elsewhere: nothing changed. Safe to repeat: the second answer is `NotScheduled`.
    """
    return Call(TRANSITION, (keys.job(job), keys.schedule, keys.base), (job,), partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Promoted | NotScheduled | Gone:
    match reply:
        case [b"promoted"]:
            return Promoted(job)
        case [b"not_scheduled"]:
            return NotScheduled(job)
        case [b"gone"]:
            return Gone(job)
        case _:
            raise refused(TRANSITION, job, reply)
