"""Moves that no holder asks for: promote, reap, an operator's verbs (protocol 4.9, 4.10, 4.14, 4.15; docs/wire.md)."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from echomq.ids import JobId
from echomq.model.admission import due_at
from echomq.model.given import Bodies, Given
from echomq.model.jobs import Job, NoJob, bury, delete_job, is_broken, judge, lane_damage, make_ready, set_aside, take
from echomq.model.keyspace import Damage, Keyspace
from echomq.model.script import Script, probe
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
    script, waiting = Script(space, given.names), space.zset(given.keys["schedule"])
    due = waiting.up_to(space.now_ms, given.limit("limit", default=SLICE))
    found = [judge(script, job_id) for job_id in due]
    if any(isinstance(what, Job) and what.group is None for what in found):
        script.place(None)
    damage = {what.id: lane_damage(what) for what in found if isinstance(what, Job)}
    bury(script, _all_that_are(NoJob.BROKEN, due, found))
    for job_id, what in zip(due, found, strict=True):
        waiting.remove(job_id)
        if isinstance(what, Job):
            trouble = damage[job_id]
            if trouble is None:
                make_ready(what)
            else:
                set_aside(what, trouble)
    script.close()
    return len(due)


def promote_now(space: Keyspace, given: Given) -> Reply:
    """Make one scheduled job ready at once: [promoted], [gone] or [not_scheduled]."""
    script = Script(space, given.names)
    job = take(script, given.args["id"])
    if job is None:
        return [b"gone"]
    waiting = space.zset(given.keys["schedule"])
    if job.id not in waiting:
        return [b"not_scheduled"]
    job.to_be_ready()
    make_ready(job)
    waiting.remove(job.id)
    script.close()
    return [b"promoted"]


def reschedule(space: Keyspace, given: Given) -> Reply:
    """Move a scheduled job to another instant: [scheduled, due ms], [gone] or [not_scheduled]."""
    if b"attempts" not in space.hash(given.keys["job"]):
        return [b"gone"]
    job_id, waiting = given.args["id"], space.zset(given.keys["schedule"])
    if job_id not in waiting:
        return [b"not_scheduled"]
    due, script = due_at(space, given), Script(space, given.names)
    if "wake" in given.keys:
        space.list(given.keys["wake"])
    waiting.add(job_id, due)
    if "wake" in given.keys and waiting.heads(1) == (job_id,):
        script.leave_wakes(worth=1)
    return [b"scheduled", b"%d" % due]


# --- reap -----------------------------------------------------------------------------------------------------------


def reap(space: Keyspace, given: Given) -> Reply:
    """Take back lapsed leases: how many left `active`; told `ids`, [reaped, n, [recovered], [dead], [ghosts]].

    A job that has lost its worker as often as its cap allows goes to dead with the reason (W20). So does one that is
    damaged itself, or whose lane or parent is (rule 3).
    """
    count, recovered, died, ghosts = _take_back(space, given, None)
    return [b"reaped", count, recovered, died, ghosts] if given.args["naming"] else count


def greap_group(space: Keyspace, given: Given) -> Reply:
    """As `reap`, for those of the first lapsed ids whose row has the group: how many left `active`."""
    return _take_back(space, given, given.args["group"])[0]


def _take_back(space: Keyspace, given: Given, only: bytes | None) -> tuple[int, list[Reply], list[Reply], list[Reply]]:
    """Take back lapsed leases, of one group or of all: how many, the recovered ids, the dead ones and the ghosts."""
    script, active = Script(space, given.names), space.zset(given.keys["active"])
    otherwise = given.number("max_attempts") if given.args["max_attempts"] else None
    heads = active.up_to(space.now_ms, given.limit("limit", default=SLICE))
    judged = [(job_id, judge(script, job_id)) for job_id in heads]
    if only is not None:
        judged = [(job_id, what) for job_id, what in judged if isinstance(what, Job) and what.group == only]
    lapsed, found = [job_id for job_id, _ in judged], [what for _, what in judged]
    fates = {what.id: _fate(what, otherwise) for what in found if isinstance(what, Job)}
    broken, ghosts = (_all_that_are(what, lapsed, found) for what in (NoJob.BROKEN, NoJob.GHOST))
    if any(isinstance(what, Job) and what.group is None and fates[what.id] is None for what in found):
        script.place(None)
    if broken or any(fate is not None for fate in fates.values()):
        script.zset(b"dead")
    with suppress(Damage):
        script.ending_leases(active)
    bury(script, broken)
    for job_id, what in judged:
        active.remove(job_id)
        if isinstance(what, Job):
            _end_lease(what, fates[job_id])
    script.close()
    died: list[Reply] = [job_id for job_id in lapsed if fates.get(job_id) is not None or job_id in broken]
    recovered: list[Reply] = [job_id for job_id in lapsed if job_id not in ghosts and job_id not in died]
    return len(lapsed), recovered, died, [*ghosts]


def _fate(job: Job, otherwise: int | None) -> Death | Damage | None:
    """Return what keeps a job from being made ready once more."""
    damage = lane_damage(job)
    try:
        spent = job.is_spent(otherwise)
        return damage or (Death.of(job) if spent else None)
    except Damage as own:
        return own


def _end_lease(job: Job, fate: Death | Damage | None) -> None:
    if job.group is not None:
        job.script.lane(job.group).fly(-1)
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
    job_id, names, script = given.args["id"], given.names, Script(space, given.names)
    sets = {name: space.zset(given.keys[name]) for name in ("pending", "active", "schedule", "dead")}
    parked = space.string(given.keys["dedup"]) if given.args["did"] else None
    if _is_locked(script, job_id, sets["active"]):
        return ErrorReply("EMQLOCK the job is held by a worker")
    probe(lambda: script.ending_leases(sets["active"]))
    if not space.exists(names.row(job_id)) and not space.exists(names.beside_row(job_id, b"result")):
        for zset in sets.values():
            zset.remove(job_id)
        script.close()
        return -1
    leased = sets["active"].remove(job_id)
    group = None if is_broken(script, job_id) else space.hash(names.row(job_id)).get(b"group")
    if group is not None:
        lane = script.lane(group)
        lane.take_out(job_id)
        lane.fly(-1 if leased else 0)
    for zset in sets.values():
        zset.remove(job_id)
    script.close()
    if parked is not None and parked.get() == job_id:
        parked.delete()
    delete_job(space, names, job_id)
    space.delete(names.beside_row(job_id, b"result"))
    return 1


def _is_locked(script: Script, job_id: bytes, active: ZSet) -> bool:
    """Whether the lock plane of another speaker holds the job.

    The string `:lock` always has a TTL. The field `lock` has none on servers without field TTLs, or after a crash
    between the two commands; without one it counts only while the lease runs, or the job of a dead worker could never
    be removed (W36).
    """
    space, names = script.space, script.names
    if not space.exists(names.row(job_id)):
        return False
    if space.exists(names.beside_row(job_id, b"lock")):
        return True
    if is_broken(script, job_id):
        return False
    row = space.hash(names.row(job_id))
    if b"lock" not in row:
        return False
    lease_ends = active.score(job_id)
    return row.field_expires(b"lock") or (lease_ends is not None and lease_ends > space.now_ms)


# --- dead jobs ------------------------------------------------------------------------------------------------------


def reprocess(space: Keyspace, given: Given) -> Reply:
    """Make a dead job ready again, in its own lane (W8): 1, -1 when it is gone, or EMQSTATE."""
    script = Script(space, given.names)
    job = take(script, given.args["id"])
    if job is None:
        return -1
    dead = space.zset(given.keys["dead"])
    if job.id not in dead:
        return ErrorReply("EMQSTATE the job is not dead")
    job.to_be_ready()
    job.row.number(b"attempts")
    _revive(dead, job, fresh=given.args["fresh"] == b"1")
    script.close()
    return 1


def reprocess_many(space: Keyspace, given: Given) -> Reply:
    """Make a slice of the dead jobs ready again: [reprocessed, count, next]. Broken and damaged ones stay."""
    script, dead = Script(space, given.names), space.zset(given.keys["dead"])
    limit = given.limit("limit", default=SLICE)
    walked = dead.after(given.args["after"], limit)
    script.place(None)
    found = [judge(script, job_id) for job_id in walked]
    sound = [what for what in found if isinstance(what, Job) and _is_sound(what)]
    for job_id in _all_that_are(NoJob.GHOST, walked, found):
        dead.remove(job_id)
    for job in sound:
        _revive(dead, job, fresh=given.args["fresh"] == b"1")
    script.close()
    return [b"reprocessed", len(sound), _next(walked, limit)]


def _is_sound(job: Job) -> bool:
    return counted(job.token) is not None and lane_damage(job) is None


def purge(space: Keyspace, given: Given) -> Reply:
    """Delete a slice of what has been dead for `age_ms`: [purged, count, next] (W40).

    The walk ends at the first id minted after now - age: nothing from there on can have died before that.
    """
    script, dead = Script(space, given.names), space.zset(given.keys["dead"])
    limit = given.limit("limit", default=SLICE)
    by = space.now_ms - given.number("age_ms")
    minted_later = JobId.smallest_at(by + 1)
    heads = dead.after(given.args["after"], limit)
    walked = [job_id for job_id in heads if job_id < minted_later]
    ripe = [job_id for job_id in walked if _died_by(script, job_id, by)]
    for job_id in ripe:
        dead.remove(job_id)
        delete_job(space, script.names, job_id)
    return [b"purged", len(ripe), _next(walked, limit)]


def _died_by(script: Script, job_id: bytes, by: int) -> bool:
    """Whether a job that was minted by then has died by then too. Without `died_at` its minting is what counts.

    A row that says another state is a job that lives elsewhere: its id was left here as a ghost and admitted again.
    """
    job = judge(script, job_id)
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
    "greap_group": greap_group,
    "remove": remove,
    "reprocess": reprocess,
    "reprocess_many": reprocess_many,
    "purge": purge,
}
