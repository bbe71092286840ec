"""extend_many: move the leases of many jobs forward, to one common deadline (protocol 4.12)."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import NotExtended, Token
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Call, Transition, refused
from echomq.transitions.checks import check_batch, check_lease, check_token
from echomq.transitions.replies import Malformed, job_ids

__all__ = ["TRANSITION", "extend_many"]

TRANSITION = Transition(
    name="extend_many",
    keys=("active",),
    args=("base", "lease_ms"),
    more_args=("id", "token"),
    repeatable=True,
    section="4.12",
)


def extend_many(keys: QueueKeys, jobs: Sequence[tuple[JobId, Token]], *, lease_ms: int) -> Call[NotExtended]:
    """Ask to keep 1 to 1000 jobs: their leases end `lease_ms` from now, on the server's clock.

    The answer names those that were not extended: stale, gone, not leased, or with a broken row. Stop these at the next
    safe point and report nothing. Safe to repeat.
    """
    check_batch("jobs", jobs)
    args: list[Arg] = [keys.base, check_lease(lease_ms)]
    for job, token in jobs:
        args += (JobId.parse(job), check_token(token))
    return Call(TRANSITION, (keys.active,), args, partial(_answer, keys.queue), keys.queue)


def _answer(queue: str, reply: Reply) -> NotExtended:
    with suppress(Malformed):
        return NotExtended(job_ids(reply))
    raise refused(TRANSITION, queue, reply)
