"""get_state: where a job is (protocol 4.18.7)."""

from functools import partial
from typing import Final

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.resp.reply import Reply
from echomq.states import JobState
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "get_state"]

TRANSITION = Transition(
    name="get_state",
    keys=("pending", "active", "schedule", "dead", "job"),
    args=("id",),
    repeatable=True,
    section="4.18.7",
)


_STATES: Final = {state.encode(): state for state in JobState}


def get_state(keys: QueueKeys, job: JobId) -> Call[JobState]:
    """Ask where a job is: the sets decide, lanes included, not the row.

    `UNKNOWN` means that the job has a row and stands in no set: `repair` finds such jobs. `ABSENT` means that it was
    completed or removed, or never admitted. Raises `WrongType` when no set has it and the row is no hash. Safe to
    repeat.
    """
    return Call(
        TRANSITION,
        (keys.pending, keys.active, keys.schedule, keys.dead, keys.job(job)),
        (job,),
        partial(_answer, job),
        job,
    )


def _answer(job: JobId, reply: Reply) -> JobState:
    if isinstance(reply, bytes) and reply in _STATES:
        return _STATES[reply]
    raise refused(TRANSITION, job, reply)
