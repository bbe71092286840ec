"""get_result: how a job ended, or that it has not (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Failed, Finished, Gone, Waiting
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.replies import Malformed, number, state

__all__ = ["TRANSITION", "get_result"]

TRANSITION = Transition(name="get_result", keys=("job", "result"), args=(), repeatable=True, section="ours")


def get_result(keys: QueueKeys, job: JobId) -> Call[Finished | Failed | Waiting | Gone]:
    """Ask how a job ended.

    `Finished` holds a kept result; it vanishes when its TTL ends. `Failed` is a dead job with its last error. `Waiting`
    means that it has not ended: ask again later. `Gone` means that it completed without a kept result, was removed, or
    was never admitted: it makes no sense to wait on. A row comes before a kept result, so an id that was admitted again
    is waiting. Safe to repeat.
    """
    return Call(TRANSITION, (keys.job(job), keys.job_result(job)), (), partial(_answer, job), job)


def _answer(job: JobId, reply: Reply) -> Finished | Failed | Waiting | Gone:
    with suppress(Malformed):
        match reply:
            case [b"completed", bytes(result), attempts, completed_at]:
                return Finished(job, result, number(attempts), number(completed_at))
            case [b"dead", bytes(error), attempts]:
                return Failed(job, error.decode("utf-8", "replace"), number(attempts))
            case [b"waiting", bytes(place), attempts]:
                return Waiting(job, state(place), number(attempts))
            case [b"gone"]:
                return Gone(job)
            case _:
                pass
    raise refused(TRANSITION, job, reply)
