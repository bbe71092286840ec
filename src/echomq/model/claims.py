"""Claiming from the flat set: claim, claim_many, is_paused (protocol 4.4, 4.5; docs/wire.md).

A claim looks at the heads of `pending` and decides before it takes anything, so a refusal consumes nothing (W2). Ghosts
are passed over inside the step, within a bound: "empty" means that there is nothing (W26).
"""

from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.jobs import Job, NoJob, broken_row, bury, judge, set_aside
from echomq.model.keyspace import Damage, Keyspace
from echomq.model.zset import ZSet
from echomq.resp.reply import Reply

__all__ = ["BODIES"]

HEADS_MAX: Final = 1000
"""How many heads one claim looks at."""

SPARE_HEADS: Final = 100
"""How many heads claim_many looks at beyond those it may serve, for ghosts and broken rows."""


def is_paused(space: Keyspace, given: Given) -> Reply:
    """Return the field `paused`, or null: the pause gate as a beat of its own (protocol 0)."""
    return space.hash(given.keys["meta"]).get(b"paused")


def claim(space: Keyspace, given: Given) -> Reply:
    """Lease the first job: [id, payload, token], or [] when nothing is ready."""
    names = given.names
    pending, active = space.zset(given.keys["pending"]), space.zset(given.keys["active"])
    ghosts: list[bytes] = []
    served: Job | None = None
    for head in pending.heads(HEADS_MAX):
        match judge(space, names, head):
            case NoJob.BROKEN:
                return broken_row(head)
            case NoJob.GHOST:
                ghosts.append(head)
            case Job() as job:
                job.row.number(b"attempts")
                served = job
                break
    for ghost in ghosts:
        pending.remove(ghost)
    return [] if served is None else _lease(space, pending, active, served, given.number("lease_ms"))


def claim_many(space: Keyspace, given: Given) -> Reply:
    """Lease up to `size` jobs on one deadline, unless the queue is paused; the gate is part of the step (W33).

    [word, left, [broken ids], [[id, payload, token]…]] with `claimed`, or `empty` and no jobs; or [paused].
    """
    names, lease_ms, size = given.names, given.number("lease_ms"), given.limit("size")
    if b"paused" in space.hash(given.keys["meta"]):
        return [b"paused"]
    pending, active = space.zset(given.keys["pending"]), space.zset(given.keys["active"])
    jobs: list[Job] = []
    passed: list[tuple[bytes, NoJob]] = []
    damaged: list[tuple[Job, Damage]] = []
    for head in pending.heads(size + SPARE_HEADS):
        if len(jobs) == size:
            break
        found = judge(space, names, head)
        if not isinstance(found, Job):
            passed.append((head, found))
            continue
        try:
            found.row.number(b"attempts")
        except Damage as damage:
            passed.append((head, NoJob.BROKEN))
            damaged.append((found, damage))
        else:
            jobs.append(found)
    broken = [head for head, what in passed if what is NoJob.BROKEN]
    bury(space, names, broken)
    for job, reason in damaged:
        set_aside(job, reason)
    for head, _ in passed:
        pending.remove(head)
    served = [_lease(space, pending, active, job, lease_ms) for job in jobs]
    return [b"claimed" if served else b"empty", len(pending), broken, served]


def _lease(space: Keyspace, pending: ZSet, active: ZSet, job: Job, lease_ms: int) -> list[Reply]:
    pending.remove(job.id)
    token = job.row.add(b"attempts", 1)
    job.row.set(b"state", b"active")
    active.add(job.id, space.now_ms + lease_ms)
    return [job.id, job.row.get(b"payload"), token]


BODIES: Final[Bodies] = {"claim": claim, "claim_many": claim_many, "is_paused": is_paused}
