"""Verbs for a queue as a whole: pause, drain, obliterate, repair (protocol 4.18; docs/wire.md)."""

from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.jobs import Job, delete_job, judge, lane_damage, make_ready
from echomq.model.keyspace import Keyspace, WrongKind
from echomq.model.lanes import Lane
from echomq.model.names import Names
from echomq.model.script import Script
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES"]


_SETS: Final = (b"active", b"pending", b"schedule", b"dead")


def pause(space: Keyspace, given: Given) -> Reply:
    """Mark the queue as paused. 1. Nothing moves; running jobs go on."""
    space.hash(given.keys["meta"]).set(b"paused", b"1")
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
    """Put back jobs of one slice that are in none of their places: [repaired, next cursor, [ids]]; cursor 0 ends.

    The lanes of the jobs of the slice are mended too: their places on the ring, and in the list of live lanes.
    """
    script, names = Script(space, given.names), given.names
    cursor, found = space.scan(names.rows, given.number("cursor"), given.limit("budget"))
    candidates = [key[len(names.rows) :] for key in found if b":" not in key[len(names.rows) :]]
    jobs = [job for job in (judge(script, job_id) for job_id in candidates) if isinstance(job, Job)]
    sets = [script.zset(name) for name in (b"pending", b"active", b"schedule", b"dead")]
    sound = [job for job in jobs if lane_damage(job) is None]
    lost = [job for job in sound if job.state != b"awaiting_children" and not _has_place(job, sets)]
    for group in dict.fromkeys(job.group for job in sound if job.group is not None):
        _see_as_it_is(script, script.lane(group))
    dead = sets[-1]
    for job in lost:
        if job.state == b"dead":
            dead.add(job.id, 0)
        else:
            make_ready(job)
    script.close()
    return [b"repaired", b"%d" % cursor, [job.id for job in lost]]


def _see_as_it_is(script: Script, lane: Lane) -> None:
    """Replace what a lane is taken for by what is there, so that closing writes the difference; a second entry goes."""
    ring = script.space.list(script.names.of(b"ring"))
    times = ring.count(lane.group)
    ring.remove_last(lane.group, times - 1)
    lane.stands, lane.listed = times > 0, lane.group in script.zset(b"lanes")


def _has_place(job: Job, sets: list[ZSet]) -> bool:
    return any(job.id in zset for zset in sets) or job.is_ready


BODIES: Final[Bodies] = {
    "pause": pause,
    "drain": drain,
    "obliterate": obliterate,
    "repair": repair,
}
