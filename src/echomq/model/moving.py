"""Moves that no holder asks for: promote, reap, an operator's verbs (protocol 4.9, 4.10, 4.14, 4.15; docs/wire.md)."""

from collections.abc import Sequence
from typing import Final

from echomq.ids import JobId
from echomq.model.admission import due_at
from echomq.model.given import Bodies, Given
from echomq.model.jobs import Job, NoJob, bury, delete_job, is_broken, judge, leave_active, make_ready, take
from echomq.model.keyspace import Keyspace
from echomq.model.names import Names
from echomq.model.settling import Death
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES"]

SLICE: Final = 100
"""How many ids promote and reap move unless told."""


# --- promote, reschedule --------------------------------------------------------------------------------------------


def promote(space: Keyspace, given: Given) -> Reply:
    """Make due jobs ready: how many ids left `schedule`, ghosts (dropped: W4) and broken ones (to dead) included."""
    names, waiting = given.names, space.zset(given.keys["schedule"])
    due = waiting.up_to(space.now_ms, given.limit("limit", default=SLICE))
    found = _in_hand(space, names, due)
    bury(space, names, _all_that_are(NoJob.BROKEN, due, found))
    for job_id, what in zip(due, found, strict=True):
        waiting.remove(job_id)
        if isinstance(what, Job):
            make_ready(what)
    return len(due)


def promote_now(space: Keyspace, given: Given) -> Reply:
    """Make one scheduled job ready at once: [promoted], [gone] or [not_scheduled]."""
    job = take(space, given.names, given.args["id"])
    if job is None:
        return [b"gone"]
    waiting = space.zset(given.keys["schedule"])
    if job.id not in waiting:
        return [b"not_scheduled"]
    make_ready(job)
    waiting.remove(job.id)
    return [b"promoted"]


def reschedule(space: Keyspace, given: Given) -> Reply:
    """Move a scheduled job to another instant: [scheduled, due ms], [gone] or [not_scheduled]."""
    if b"attempts" not in space.hash(given.keys["job"]):
        return [b"gone"]
    job_id, waiting = given.args["id"], space.zset(given.keys["schedule"])
    if job_id not in waiting:
        return [b"not_scheduled"]
    due = due_at(space, given)
    waiting.add(job_id, due)
    return [b"scheduled", b"%d" % due]


# --- reap -----------------------------------------------------------------------------------------------------------


def reap(space: Keyspace, given: Given) -> Reply:
    """Take back lapsed leases: how many left `active`; told `ids`, [reaped, n, [recovered], [dead], [ghosts]].

    A job that has lost its worker as often as its cap allows goes to dead with the reason (W20).
    """
    names, active = given.names, space.zset(given.keys["active"])
    otherwise = given.number("max_attempts") if given.args["max_attempts"] else None
    lapsed = active.up_to(space.now_ms, given.limit("limit", default=SLICE))
    found = _in_hand(space, names, lapsed)
    deaths = {what.id: Death.of(space, what) for what in found if isinstance(what, Job) and what.is_spent(otherwise)}
    broken, ghosts = (_all_that_are(what, lapsed, found) for what in (NoJob.BROKEN, NoJob.GHOST))
    bury(space, names, broken)
    for job_id, what in zip(lapsed, found, strict=True):
        if isinstance(what, Job):
            _end_lease(active, what, deaths.get(job_id))
        else:
            active.remove(job_id)
    if not given.args["naming"]:
        return len(lapsed)
    died = [job_id for job_id in lapsed if job_id in deaths or job_id in broken]
    recovered = [job_id for job_id in lapsed if job_id not in ghosts and job_id not in died]
    return [b"reaped", len(lapsed), recovered, died, ghosts]


def _end_lease(active: ZSet, job: Job, death: Death | None) -> None:
    leave_active(active, job)
    if death is None:
        make_ready(job)
    else:
        death.come(b"lease lapsed on attempt %b, and no attempt is left" % job.token)


def _in_hand(space: Keyspace, names: Names, job_ids: Sequence[bytes]) -> list[Job | NoJob]:
    """Take all jobs of a slice in hand, before the first of them is moved."""
    found = (judge(space, names, job_id) for job_id in job_ids)
    return [what.in_hand() if isinstance(what, Job) else what for what in found]


def _all_that_are(what: NoJob, job_ids: Sequence[bytes], found: Sequence[Job | NoJob]) -> list[bytes]:
    return [job_id for job_id, one in zip(job_ids, found, strict=True) if one is what]


# --- remove ---------------------------------------------------------------------------------------------------------


def remove(space: Keyspace, given: Given) -> Reply:
    """Delete a job from wherever it is: 1, -1 when it is gone, or EMQLOCK while another speaker's worker holds it.

    A lane loses it too, and a lease that it had no longer counts for its group (W7). A result that was kept, and
    a skeleton, stand for the job: what is left of it goes. An id without any of them is dropped from the sets.
    """
    job_id, names = given.args["id"], given.names
    sets = {name: space.zset(given.keys[name]) for name in ("pending", "active", "schedule", "dead")}
    parked = space.string(given.keys["dedup"]) if given.args["did"] else None
    if not space.exists(names.row(job_id)) and not space.exists(names.beside_row(job_id, b"result")):
        for zset in sets.values():
            zset.remove(job_id)
        return -1
    if _is_locked(space, names, job_id, sets["active"]):
        return ErrorReply("EMQLOCK the job is held by a worker")
    if not is_broken(space, names, job_id):
        job = Job(job_id, space.hash(names.row(job_id)), names, space)
        job.place.take_out(job_id)
        leave_active(sets["active"], job)
    for zset in sets.values():
        zset.remove(job_id)
    if parked is not None and parked.get() == job_id:
        parked.delete()
    delete_job(space, names, job_id)
    space.delete(names.beside_row(job_id, b"result"))
    return 1


def _is_locked(space: Keyspace, names: Names, job_id: bytes, active: ZSet) -> bool:
    """Whether the lock plane of another speaker holds the job.

    The string `:lock` always has a TTL. The field `lock` has none on servers without field TTLs, or after a crash
    between the two commands; without one it counts only while the lease runs, or the job of a dead worker could never
    be removed (W36).
    """
    if not space.exists(names.row(job_id)):
        return False
    if space.exists(names.beside_row(job_id, b"lock")):
        return True
    if is_broken(space, names, job_id):
        return False
    row = space.hash(names.row(job_id))
    if b"lock" not in row:
        return False
    lease_ends = active.score(job_id)
    return row.field_expires(b"lock") or (lease_ends is not None and lease_ends > space.now_ms)


# --- dead jobs ------------------------------------------------------------------------------------------------------


def reprocess(space: Keyspace, given: Given) -> Reply:
    """Make a dead job ready again, in its own lane (W8): 1, -1 when it is gone, or EMQSTATE."""
    job = take(space, given.names, given.args["id"])
    if job is None:
        return -1
    dead = space.zset(given.keys["dead"])
    if job.id not in dead:
        return ErrorReply("EMQSTATE the job is not dead")
    _revive(dead, job.in_hand(), fresh=given.args["fresh"] == b"1")
    return 1


def reprocess_many(space: Keyspace, given: Given) -> Reply:
    """Make a slice of the dead jobs ready again: [reprocessed, count, next]. Broken ones stay where they are."""
    names, dead, limit = given.names, space.zset(given.keys["dead"]), given.limit("limit", default=SLICE)
    walked = dead.after(given.args["after"], limit)
    found = _in_hand(space, names, walked)
    for job_id, what in zip(walked, found, strict=True):
        if isinstance(what, Job):
            _revive(dead, what, fresh=given.args["fresh"] == b"1")
        elif what is NoJob.GHOST:
            dead.remove(job_id)
    return [b"reprocessed", sum(isinstance(what, Job) for what in found), _next(walked, limit)]


def purge(space: Keyspace, given: Given) -> Reply:
    """Delete a slice of what has been dead for `age_ms`: [purged, count, next] (W40).

    The walk ends at the first id minted after now - age: nothing from there on can have died before that.
    """
    names, dead, limit = given.names, space.zset(given.keys["dead"]), given.limit("limit", default=SLICE)
    by = space.now_ms - given.number("age_ms")
    minted_later = JobId.smallest_at(by + 1)
    heads = dead.after(given.args["after"], limit)
    walked = [job_id for job_id in heads if job_id < minted_later]
    ripe = [job_id for job_id in walked if _died_by(space, names, job_id, by)]
    for job_id in ripe:
        dead.remove(job_id)
        delete_job(space, names, job_id)
    return [b"purged", len(ripe), _next(walked, limit)]


def _died_by(space: Keyspace, names: Names, job_id: bytes, by: int) -> bool:
    """Whether a job that was minted by then has died by then too. Without `died_at` its minting is what counts."""
    return is_broken(space, names, job_id) or space.hash(names.row(job_id)).number(b"died_at", by) <= by


def _revive(dead: ZSet, job: Job, *, fresh: bool) -> None:
    dead.remove(job.id)
    job.row.remove(b"last_error", b"died_at")
    if fresh:
        job.row.set(b"unspent", job.token)
        job.row.remove(b"stalled")
    make_ready(job)


def _next(walked: Sequence[bytes], limit: int) -> bytes:
    """Return where the next slice begins after, empty when this one reached the end."""
    return walked[-1] if walked and len(walked) == limit else b""


BODIES: Final[Bodies] = {
    "promote": promote,
    "promote_now": promote_now,
    "reschedule": reschedule,
    "reap": reap,
    "remove": remove,
    "reprocess": reprocess,
    "reprocess_many": reprocess_many,
    "purge": purge,
}
