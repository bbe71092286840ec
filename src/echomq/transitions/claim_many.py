"""claim_many: lease the oldest ready jobs of the flat set on one common deadline (ours, docs/wire.md)."""

from contextlib import suppress
from functools import partial

from echomq.batches import BATCH_MAX
from echomq.keys import QueueKeys
from echomq.records import Claimed, ClaimedMany, Paused, Token
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_lease, check_number
from echomq.transitions.replies import Malformed, job_id, job_ids, number

__all__ = ["TRANSITION", "claim_many"]

TRANSITION = Transition(
    name="claim_many",
    keys=("pending", "active", "meta", "dead", "base"),
    args=("lease_ms", "size"),
    repeatable=False,
    section="ours",
)


def claim_many(keys: QueueKeys, *, lease_ms: int, size: int) -> Call[ClaimedMany | Paused]:
    """Take up to `size` of the oldest ready jobs, 1 to 1000, for `lease_ms` counted by the server.

    On `ClaimedMany`, run each job and settle it with its token before the lease ends, or extend it; there may be none,
    and `left` says how many more are ready. `broken` are ids whose row is no hash: they lie in dead. On `Paused`,
    nothing was touched: ask again later. Not safe to repeat: when the answer was lost, jobs may be leased to nobody;
    they come back when their lease ends.
    """
    return Call(
        TRANSITION,
        (keys.pending, keys.active, keys.meta, keys.dead, keys.base),
        (check_lease(lease_ms), check_number("size", size, least=1, most=BATCH_MAX)),
        partial(_answer, keys.queue),
        keys.queue,
    )


def _answer(queue: str, reply: Reply) -> ClaimedMany | Paused:
    with suppress(Malformed):
        match reply:
            case [b"claimed" | b"empty", int(left), broken, list(jobs)]:
                return ClaimedMany(tuple([_claimed(job) for job in jobs]), left, job_ids(broken))
            case [b"paused"]:
                return Paused()
            case _:
                pass
    raise refused(TRANSITION, queue, reply)


def _claimed(reply: Reply) -> Claimed:
    match reply:
        case [job, (bytes() | None) as payload, token]:
            return Claimed(job_id(job), payload, Token(number(token)))
        case _:
            raise Malformed
