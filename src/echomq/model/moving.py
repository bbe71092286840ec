"""Moves that no holder asks for: promote, reap, an operator's verbs (protocol 4.9, 4.10, 4.14, 4.15; docs/wire.md)."""

from collections.abc import Sequence
from typing import Final

from echomq.ids import JobId
from echomq.model.admission import due_at
from echomq.model.given import Bodies, Given
from echomq.model.jobs import (
    Job,
    NoJob,
    bury,
    delete_job,
    is_broken,
    judge,
    lane_damage,
    make_ready,
    set_aside,
    take,
)
from echomq.model.keyspace import Damage, Keyspace
from echomq.model.lanes import end_lease_of, take_out_of
from echomq.model.names import Names
from echomq.model.settling import Death
from echomq.model.view import counted
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES"]

SLICE: Final = 100
"""How many ids promote and reap move unless told."""


# --- promote, reschedule --------------------------------------------------------------------------------------------


def promote(space: Keyspace, given: Given) -> Reply:
    """Make due jobs ready: how many ids left `schedule`, ghosts (dropped: W4) and broken ones (to dead) included.

    A job whose lane is damaged goes to dead with the reason (rule 3).
    """
    names, waiting = given.names, space.zset(given.keys["schedule"])
    due = waiting.up_to(space.now_ms, given.limit("limit", default=SLICE))
    found = [judge(space, names, job_id) for job_id in due]
    if any(isinstance(what, Job) and what.group is None for what in found):
        space.zset(names.of(b"pending"))
    damage = {what.id: lane_damage(space, names, what) for what in found if isinstance(what, Job)}
    bury(space, names, _all_that_are(NoJob.BROKEN, due, found))
    for job_id, what in zip(due, found, strict=True):
        waiting.remove(job_id)
        if isinstance(what, Job):
            trouble = damage[job_id]
            if trouble is None:
                make_ready(what)
            else:
                set_aside(what, trouble)
    return len(due)


def promote_now(space: Keyspace, given: Given) -> Reply:
    """Make one scheduled job ready at once: [promoted], [gone] or [not_scheduled]."""
    job = take(space, given.names, given.args["id"])
    if job is None:
        return [b"gone"]
    waiting = space.zset(given.keys["schedule"])
    if job.id not in waiting:
        return [b"not_scheduled"]
    job.in_hand()
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

    A job that has lost its worker as often as its cap allows goes to dead with the reason (W20). So does one that is
    damaged itself, or whose lane or parent is (rule 3).
    """
    names, active = given.names, space.zset(given.keys["active"])
    otherwise = given.number("max_attempts") if given.args["max_attempts"] else None
    lapsed = active.up_to(space.now_ms, given.limit("limit", default=SLICE))
    found = [judge(space, names, job_id) for job_id in lapsed]
    fates = {what.id: _fate(space, names, what, otherwise) for what in found if isinstance(what, Job)}
    space.zset(names.of(b"dead"))
    if any(isinstance(what, Job) and what.group is None and fates[what.id] is None for what in found):
        space.zset(names.of(b"pending"))
    broken, ghosts = (_all_that_are(what, lapsed, found) for what in (NoJob.BROKEN, NoJob.GHOST))
    bury(space, names, broken)
    for job_id, what in zip(lapsed, found, strict=True):
        if isinstance(what, Job):
            _end_lease(active, what, fates[job_id])
        else:
            active.remove(job_id)
    if not given.args["naming"]:
        return len(lapsed)
    died = [job_id for job_id in lapsed if fates.get(job_id) is not None or job_id in broken]
    recovered = [job_id for job_id in lapsed if job_id not in ghosts and job_id not in died]
    return [b"reaped", len(lapsed), recovered, died, ghosts]


def _fate(space: Keyspace, names: Names, job: Job, otherwise: int | None) -> Death | Damage | None:
    """Return what keeps a job from being made ready once more."""
    try:
        spent = job.is_spent(otherwise)
        damage = lane_damage(space, names, job)
        return damage or (Death.of(space, job) if spent else None)
    except Damage as damage:
        return damage


def _end_lease(active: ZSet, job: Job, fate: Death | Damage | None) -> None:
    active.remove(job.id)
    end_lease_of(job.space, job.names, job.group)
    match fate:
        case None:
            make_ready(job)
        case Death():
            fate.come(b"lease lapsed on attempt %b, and no attempt is left" % job.token)
        case Damage():
            set_aside(job, fate)


def _all_that_are(what: NoJob, job_ids: Sequence[bytes], found: Sequence[Job | NoJob]) -> list[bytes]:
    return [job_id for job_id, one in zip(job_ids, found, strict=True) if one is what]


# --- remove ---------------------------------------------------------------------------------------------------------


def remove(space: Keyspace, given: Given) -> Reply:
    """Delete a job from wherever it is: 1, -1 when it is gone, or EMQLOCK while another speaker's worker holds it.

    A lane loses it too, and a lease that it had no longer counts for its group (W7). A result that was kept, and
    a skeleton, stand for the job: what is left of it goes. An id without any of them is dropped from the sets. Of a
    group whose bookkeeping is damaged what is sound is kept up to date.
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
    leased = sets["active"].remove(job_id)
    if not is_broken(space, names, job_id):
        group = space.hash(names.row(job_id)).get(b"group")
        take_out_of(space, names, group, job_id)
        if leased:
            end_lease_of(space, names, group)
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
    job.row.number(b"attempts")
    _revive(dead, job.in_hand(), fresh=given.args["fresh"] == b"1")
    return 1


def reprocess_many(space: Keyspace, given: Given) -> Reply:
    """Make a slice of the dead jobs ready again: [reprocessed, count, next]. Broken and damaged ones stay."""
    names, dead, limit = given.names, space.zset(given.keys["dead"]), given.limit("limit", default=SLICE)
    walked = dead.after(given.args["after"], limit)
    space.zset(names.of(b"pending"))
    found = [judge(space, names, job_id) for job_id in walked]
    sound = [what for what in found if isinstance(what, Job) and _is_sound(space, names, what)]
    for job_id in _all_that_are(NoJob.GHOST, walked, found):
        dead.remove(job_id)
    for job in sound:
        _revive(dead, job, fresh=given.args["fresh"] == b"1")
    return [b"reprocessed", len(sound), _next(walked, limit)]


def _is_sound(space: Keyspace, names: Names, job: Job) -> bool:
    return counted(job.token) is not None and lane_damage(space, names, job) is None


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
    """Whether a job that was minted by then has died by then too. Without `died_at` its minting is what counts.

    A row that says another state is a job that lives elsewhere: its id was left here as a ghost and admitted again.
    """
    job = judge(space, names, job_id)
    if not isinstance(job, Job):
        return True
    return (job.row.get(b"state") or b"dead") == b"dead" and job.row.count(b"died_at", by) <= by


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
