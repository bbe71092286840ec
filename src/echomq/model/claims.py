"""Claiming from the flat set: claim, claim_many, is_paused (protocol 4.4, 4.5; docs/wire.md).

A claim looks at the heads of `pending` and decides before it takes anything, so a refusal consumes nothing (W2). Ghosts
are passed over inside the step, within a bound: "empty" means that there is nothing (W26). Jobs of a group, which other
speakers put here, go home to their lanes, so that no limit is passed (W8).
"""

from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.heads import Passed, judge_head, lease, paused
from echomq.model.jobs import Job, NoJob, broken_row, judge
from echomq.model.keyspace import Keyspace
from echomq.model.script import Script, ceiling_of
from echomq.model.zset import ZSet
from echomq.resp.reply import Reply

__all__ = ["BODIES"]

HEADS_MAX: Final = 1000
"""How many heads one claim looks at."""

SPARE_HEADS: Final = 100
"""How many heads claim_many looks at beyond those it may serve, for what cannot be served."""


def is_paused(space: Keyspace, given: Given) -> Reply:
    """Return the field `paused`, or null: the pause gate as a beat of its own (protocol 0)."""
    return space.hash(given.keys["meta"]).get(b"paused")


def claim(space: Keyspace, given: Given) -> Reply:
    """Lease the first job: [id, payload, token], or [] when nothing is ready."""
    script = Script(space, given.names)
    pending, active = space.zset(given.keys["pending"]), space.zset(given.keys["active"])
    passed, gone = Passed(), list[bytes]()
    served: Job | None = None
    for head in pending.heads(HEADS_MAX):
        gone.append(head)
        match judge(script, head):
            case NoJob.BROKEN:
                return broken_row(head)
            case Job() as job if job.group is None:
                job.row.number(b"attempts")
                served = job
                break
            case Job() as job:
                passed.home.append(job.to_be_ready())
    _leave(pending, gone)
    reply: Reply = [] if served is None else lease(active, served, space.now_ms + given.number("lease_ms"))
    passed.send_off(script)
    script.close()
    return reply


def claim_many(space: Keyspace, given: Given) -> Reply:
    """Lease up to `size` jobs on one deadline, unless the queue is paused; the gate is part of the step (W33).

    [word, left, [broken ids], [[id, payload, token]…]] with `claimed`, or `empty` and no jobs; or [paused].
    """
    script, size = Script(space, given.names), given.limit("size")
    if paused(script):
        return [b"paused"]
    pending, active = space.zset(given.keys["pending"]), space.zset(given.keys["active"])
    most = ceiling_of(space, given.names)
    room = size if most is None else min(size, most - len(active))
    passed, gone = Passed(), list[bytes]()
    jobs: list[Job] = []
    for head in pending.heads(size + SPARE_HEADS):
        if len(jobs) >= room:
            break
        gone.append(head)
        job = judge_head(script, head, None, passed)
        if job is not None:
            jobs.append(job)
    _leave(pending, gone)
    until_ms = space.now_ms + given.number("lease_ms")
    served: list[Reply] = [lease(active, job, until_ms) for job in jobs]
    passed.send_off(script)
    script.close()
    return [b"claimed" if served else b"empty", len(pending), [*passed.broken], served]


def _leave(pending: ZSet, gone: list[bytes]) -> None:
    for job_id in gone:
        pending.remove(job_id)


BODIES: Final[Bodies] = {"claim": claim, "claim_many": claim_many, "is_paused": is_paused}
