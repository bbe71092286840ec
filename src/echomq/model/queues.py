"""Verbs for a queue as a whole: pause, resume, drain, obliterate, repair (protocol 4.18; docs/wire.md)."""

from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.jobs import Job, delete_job, judge, lane_damage, make_ready
from echomq.model.keyspace import Keyspace, WrongKind
from echomq.model.names import Names
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES"]


_SETS: Final = (b"active", b"pending", b"schedule", b"dead")


def pause(space: Keyspace, given: Given) -> Reply:
    """Mark the queue as paused. 1. Nothing moves; running jobs go on."""
    space.hash(given.keys["meta"]).set(b"paused", b"1")
    return 1


def resume(space: Keyspace, given: Given) -> Reply:
    """Take the mark away. 1."""
    space.hash(given.keys["meta"]).remove(b"paused")
    return 1


def drain(space: Keyspace, given: Given) -> Reply:
    """Delete waiting jobs, oldest first: how many. Equal to the limit means: call again (W44)."""
    names, limit = given.names, given.limit("limit")
    sets = [space.zset(given.keys[name]) for name in ("pending", "schedule") if name in given.keys]
    drained = 0
    for zset in sets:
        for job_id in zset.heads(limit - drained):
            zset.remove(job_id)
            delete_job(space, names, job_id)
            drained += 1
    return drained


def obliterate(space: Keyspace, given: Given) -> Reply:
    """Delete a slice of everything the queue has: 0 when nothing is left, or the cursor to call again with (W41).

    EMQSTATE when the queue is not paused, or when jobs run and it is not forced. Jobs go first, each whole, and each
    call begins with the sets, so that no row is left of what a producer adds meanwhile. `meta` goes last, so that the
    queue stays paused until the end.
    """
    names, meta = given.names, given.keys["meta"]
    if b"paused" not in space.hash(meta):
        return ErrorReply("EMQSTATE not paused")
    if given.args["force"] != b"force" and len(space.zset(names.of(b"active"))):
        return ErrorReply("EMQSTATE active jobs present")
    cursor = _obliterate_slice(space, given)
    if cursor is not None:
        return b"%d" % cursor
    for name in _SETS:
        space.delete(names.of(name))
    space.delete(meta)
    return 0


def _obliterate_slice(space: Keyspace, given: Given) -> int | None:
    """Delete a slice and return the cursor to go on from, None at the end."""
    names = given.names
    here, budget = given.number("cursor"), given.limit("budget")
    sets = [names.of(name) for name in _SETS]
    for key in sets:
        budget -= _empty(space, names, key, budget)
        if budget <= 0:
            return here
    cursor, found = space.scan(names.base, here, budget)
    doomed = [key for key in found if key not in sets and key != given.keys["meta"]]
    for key in filter(names.is_lane, doomed):
        budget -= _empty(space, names, key, budget)
        if budget <= 0:
            return here
    for key in doomed:
        space.delete(key)
    return cursor or None


def _empty(space: Keyspace, names: Names, key: bytes, budget: int) -> int:
    """Delete the first jobs of a set, each whole, and say how many; none of a key of another kind."""
    try:
        ready = space.zset(key)
    except WrongKind:
        return 0
    heads = ready.heads(budget)
    for job_id in heads:
        ready.remove(job_id)
        delete_job(space, names, job_id)
    return len(heads)


def repair(space: Keyspace, given: Given) -> Reply:
    """Put back jobs of one slice that are in none of their places: [repaired, next cursor, [ids]]; cursor 0 ends."""
    names = given.names
    cursor, found = space.scan(names.rows, given.number("cursor"), given.limit("budget"))
    candidates = [key[len(names.rows) :] for key in found if b":" not in key[len(names.rows) :]]
    judged = [judge(space, names, job_id) for job_id in candidates]
    sets = [space.zset(names.of(name)) for name in (b"pending", b"active", b"schedule", b"dead")]
    lost = [
        job if job.state == b"dead" else job.in_hand()
        for job in judged
        if isinstance(job, Job)
        and job.state != b"awaiting_children"
        and lane_damage(space, names, job) is None
        and not _has_place(job, sets)
    ]
    dead = sets[-1]
    for job in lost:
        if job.state == b"dead":
            dead.add(job.id, 0)
        else:
            make_ready(job)
    return [b"repaired", b"%d" % cursor, [job.id for job in lost]]


def _has_place(job: Job, sets: list[ZSet]) -> bool:
    return any(job.id in zset for zset in sets) or job.is_ready


BODIES: Final[Bodies] = {
    "pause": pause,
    "resume": resume,
    "drain": drain,
    "obliterate": obliterate,
    "repair": repair,
}
