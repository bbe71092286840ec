"""What becomes of the ids at the head of a ready set when a claim walks them (docs/wire.md, rules 2, 3 and 7).

Judging comes before taking, so that a refusal consumes nothing (W2). What is not served is collected meanwhile, and
sent where it belongs after the set has been left.
"""

from dataclasses import dataclass, field

from echomq.model.jobs import Job, NoJob, judge, make_ready, set_aside
from echomq.model.keyspace import Damage
from echomq.model.script import Script
from echomq.model.view import NotANumber, counted
from echomq.model.zset import ZSet
from echomq.resp.reply import Reply

__all__ = ["Passed", "is_fresh", "judge_head", "lease", "paused", "peek"]


@dataclass(slots=True)
class Passed:
    """What a claim passed over.

    `broken` are all ids that go to dead, in the order in which they were met; those whose row is sound are in `damaged`
    with the reason. `home` are jobs that stood in a set that is not theirs (W8). Ghosts are not kept.
    """

    broken: list[bytes] = field(default_factory=list)
    damaged: list[tuple[Job, Damage]] = field(default_factory=list)
    home: list[Job] = field(default_factory=list)

    def send_off(self, script: Script) -> None:
        """Send each where it belongs."""
        for job_id in self.broken:
            script.zset(b"dead").add(job_id, 0)
        for job, reason in self.damaged:
            set_aside(job, reason)
        for job in self.home:
            make_ready(job)


def judge_head(script: Script, job_id: bytes, group: bytes | None, passed: Passed) -> Job | None:
    """Return the job if it is one of the group's that can be served; else None, and `passed` has it.

    Raises `WrongKind` when the flat set, `wake` or dead, which it has to go to, is of another kind.
    """
    found = judge(script, job_id)
    if found is NoJob.GHOST:
        return None
    if found is NoJob.BROKEN:
        script.zset(b"dead")
        passed.broken.append(job_id)
        return None
    assert isinstance(found, Job)
    damage = _damage(script, found, group)
    if damage is not None:
        script.zset(b"dead")
        passed.broken.append(job_id)
        passed.damaged.append((found, damage))
        return None
    if found.group != group:
        passed.home.append(found)
        return None
    return found


def _damage(script: Script, job: Job, group: bytes | None) -> Damage | None:
    if job.group == group:
        try:
            job.row.number(b"attempts")
        except NotANumber as damage:
            return damage
    elif job.group is None:
        script.ready_place(None)
    else:
        return script.lane(job.group).trouble
    return None


def is_fresh(job: Job) -> bool:
    """Whether none of a job's attempts counts. A counter that is no number counts as 0."""
    return (counted(job.token) or 0) <= (counted(job.row.get(b"unspent") or b"") or 0)


def peek(script: Script, job_id: bytes) -> bool:
    """Whether an id is taken for a fresh job in a search: what is no job is as well, and is met and passed over."""
    found = judge(script, job_id)
    return is_fresh(found) if isinstance(found, Job) else True


def lease(active: ZSet, job: Job, until_ms: int) -> list[Reply]:
    """Put a job that has left its ready set in flight: [id, payload, token]."""
    token = job.row.add(b"attempts", 1)
    job.row.set(b"state", b"active")
    active.add(job.id, until_ms)
    return [job.id, job.row.get(b"payload"), token]


def paused(script: Script) -> bool:
    """Whether the queue is paused: the pause gate inside a claim (W33)."""
    return b"paused" in script.space.hash(script.names.of(b"meta"))
