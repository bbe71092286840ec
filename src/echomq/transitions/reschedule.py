"""reschedule: let a scheduled job wait for another instant (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, NotScheduled, Rescheduled
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_due
from echomq.transitions.replies import Malformed, number

__all__ = ["TRANSITION", "reschedule"]

TRANSITION = Transition(
    name="reschedule",
    keys=("job", "schedule", "wake"),
    optional_keys=1,
    args=("id", "mode", "value"),
    # A delay counts from the instant at which the call arrives, so the second call moves the job once more.
    repeatable=False,
    section="ours",
)


def reschedule(
    keys: QueueKeys, job: JobId, *, delay_ms: int | None = None, at_ms: int | None = None
) -> Call[Rescheduled | NotScheduled | Gone]:
    """Let a scheduled job wait until `delay_ms` from now, or until `at_ms`, Unix ms: exactly one of the two.

    `NotScheduled` means that it stands elsewhere: nothing changed. With `at_ms` it is safe to repeat while the job is
    still scheduled; with `delay_ms` the second call counts from its own instant, so the transition says it is not.
    """
    args = (job, *check_due(delay_ms=delay_ms, at_ms=at_ms))
    return Call(TRANSITION, (keys.job(job), keys.schedule, keys.wake), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Rescheduled | NotScheduled | Gone:
    with suppress(Malformed):
        match reply:
            case [b"scheduled", due]:
                return Rescheduled(job, number(due))
            case [b"not_scheduled"]:
                return NotScheduled(job)
            case [b"gone"]:
                return Gone(job)
            case _:
                pass
    raise refused(TRANSITION, job, reply)
