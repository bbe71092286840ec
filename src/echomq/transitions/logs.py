"""logs: a slice of a job's log (ours, docs/wire.md)."""

from functools import partial

from echomq.batches import BATCH_MAX
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Gone, Logs
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_number

__all__ = ["TRANSITION", "logs"]

TRANSITION = Transition(
    name="logs",
    keys=("job", "logs"),
    args=("start", "count"),
    repeatable=True,
    section="ours",
)


def logs(keys: QueueKeys, job: JobId, *, start: int = 0, count: int = 1000) -> Call[Logs | Gone]:
    """Read up to `count` lines of a job's log, 1 to 1000, from line `start` on; 0 is the oldest that is kept.

    On `Gone`, there is no such job, and its log is deleted. Safe to repeat.
    """
    args = (check_number("start", start), check_number("count", count, least=1, most=BATCH_MAX))
    return Call(TRANSITION, (keys.job(job), keys.job_logs(job)), args, partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Logs | Gone:
    match reply:
        case [b"logs", int(total), list(lines)] if all(isinstance(line, bytes) for line in lines):
            return Logs(tuple(lines), total)
        case [b"gone"]:
            return Gone(job)
        case _:
            raise refused(TRANSITION, job, reply)
