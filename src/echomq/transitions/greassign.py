"""greassign: move one waiting job to another lane (protocol 4.16.9)."""

from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys, check_group
from echomq.records import AlreadyThere, Gone, NotInLane, Reassigned
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused

__all__ = ["TRANSITION", "greassign"]

TRANSITION = Transition(
    name="greassign",
    keys=("job", "lane", "ring", "paused", "glimit", "gactive", "wake"),
    args=("id", "destination", "base"),
    repeatable=True,
    section="4.16.9",
)


def greassign(keys: QueueKeys, job: JobId, lane: str) -> Call[Reassigned | AlreadyThere | NotInLane | Gone]:
    """Move a job that waits in a lane to the lane `lane`, where it stands in mint order.

    On `AlreadyThere`, it is a job of that lane, wherever it is. On `NotInLane`, it runs, is scheduled or dead, and
    keeps its lane. On `Gone`, there is no such job; a job without a lane answers `Gone` too. None of the three changed
    anything. Raises `InvalidName` before anything is sent. Safe to repeat: the second answer is `AlreadyThere`.
    """
    return Call(
        TRANSITION,
        (
            keys.job(job),
            keys.lane(lane),
            keys.ring,
            keys.paused,
            keys.group_limit,
            keys.group_active,
            keys.wake,
        ),
        (job, check_group(lane), keys.base),
        partial(_answer, job, lane),
        job,
    )


def _answer(job: JobId, lane: str, reply: Reply) -> Reassigned | AlreadyThere | NotInLane | Gone:
    match reply:
        case int(1):
            return Reassigned(job, lane)
        case int(0):
            return AlreadyThere(job, lane)
        case -1:
            return Gone(job)
        case -2:
            return NotInLane(job)
        case _:
            raise refused(TRANSITION, job, reply)
