"""Endings and renewals by the holder of an attempt (protocol 4.6, 4.7, 4.8, 4.12; docs/wire.md).

All of them are fenced: the token must be the current one, and the job must still be the holder's to decide about (rule
4: W5, W9, W10). A late ending after a lapse counts as long as nobody has claimed the job again.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from echomq.model.admission import due_at, is_job_id
from echomq.model.flows import Parent, parent_of
from echomq.model.given import Bodies, Given
from echomq.model.jobs import (
    STALE,
    Job,
    NoJob,
    delete_job,
    judge,
    leave_active,
    make_ready,
    take,
)
from echomq.model.keyspace import Damage, Keyspace
from echomq.model.names import Names
from echomq.model.script import Script
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES", "Death", "may_settle"]


def may_settle(active: ZSet, job: Job, token: bytes) -> bool:
    """Rule 4: the token is right, and the job is leased or back in its ready set since. Raises `Damage`."""
    return job.shown(token) and (job.in_hand().id in active or job.is_ready)


def _leases_of_holder(space: Keyspace, given: Given, job: Job) -> ZSet | None:
    """Return the leases, None for whoever does not hold the job, which is told first. Raises `Damage`."""
    if not job.shown(given.args["token"]):
        return None
    active = space.zset(given.keys["active"])
    return active if may_settle(active, job, given.args["token"]) else None


# --- complete -------------------------------------------------------------------------------------------------------


def complete(space: Keyspace, given: Given) -> Reply:
    """Retire a job. 1, 0 when it is gone, or EMQSTALE."""
    script = Script(space, given.names)
    job = take(script, given.args["id"])
    if job is None:
        return 0
    active = _leases_of_holder(space, given, job)
    if active is None:
        return ErrorReply(STALE)
    _judge_count(space, job.names, b"completed")
    script.ending_leases(active)
    the = _Retirement.of(active, job)
    _retire(the, given.number("result_ttl_ms"), given.args["result"])
    script.close()
    return 1


def complete_many(space: Keyspace, given: Given) -> Reply:
    """Retire jobs, each on its own: for each in order `completed`, `gone`, `stale` or `broken`."""
    script, active = Script(space, given.names), space.zset(given.keys["active"])
    script.zset(b"pending")
    with suppress(Damage):
        script.ending_leases(active)
    in_hand: dict[bytes, _Retirement | Damage] = {}
    for job, token, _ttl, _result in given.more_args:
        found = judge(script, job)
        if isinstance(found, Job) and job not in in_hand and found.shown(token):
            try:
                if may_settle(active, found, token):
                    in_hand[job] = _Retirement.of(active, found)
            except Damage as damage:
                in_hand[job] = damage
    answers: list[Reply] = [
        _complete_one(script, in_hand.get(job), job, token, int(ttl or b"0"), result)
        for job, token, ttl, result in given.more_args
    ]
    script.close()
    return answers


def _complete_one(
    script: Script, in_hand: "_Retirement | Damage | None", job: bytes, token: bytes, ttl_ms: int, result: bytes
) -> bytes:
    found = judge(script, job)
    if isinstance(found, NoJob):
        return b"broken" if found is NoJob.BROKEN else b"gone"
    if not found.shown(token):
        return b"stale"
    if isinstance(in_hand, Damage):
        return b"broken"
    if in_hand is None or not may_settle(in_hand.active, in_hand.job, token):
        return b"stale"
    _retire(in_hand, ttl_ms, result)
    return b"completed"


@dataclass(frozen=True, slots=True)
class _Retirement:
    """All that retiring one job writes, in hand."""

    active: ZSet
    job: Job
    parent: Parent | None

    @classmethod
    def of(cls, active: ZSet, job: Job) -> "_Retirement":
        return cls(active, job.in_hand(), parent_of(job))


def _retire(the: _Retirement, result_ttl_ms: int, result: bytes) -> None:
    """Take the job out of flight, tell its parent, delete it, count it, and keep the result if that was asked for."""
    job, space = the.job, the.job.space
    attempts = job.token
    leave_active(the.active, job)
    if the.parent is not None:
        the.parent.completed(job, result or job.id)
    delete_job(space, job.names, job.id)
    _count(space, job.names, b"completed")
    if result_ttl_ms > 0:
        # A result of an earlier run, or a foreign value, is replaced: it must not keep the job from ending.
        key = job.names.beside_row(job.id, b"result")
        space.delete(key)
        kept = space.hash(key)
        kept.set(b"result", result)
        kept.set(b"attempts", attempts)
        kept.set(b"completed_at", space.now_ms)
        kept.expire_in(result_ttl_ms)


# --- retry ----------------------------------------------------------------------------------------------------------


def retry(space: Keyspace, given: Given) -> Reply:
    """End an attempt with an error: `scheduled` for another one, or `dead` when none is left; or EMQSTALE."""
    script = Script(space, given.names)
    job = take(script, given.args["id"])
    if job is None:
        return ErrorReply("EMQSTALE job gone")
    active, error, most = _leases_of_holder(space, given, job), given.args["reason"], given.number("max_attempts")
    if active is None:
        return ErrorReply(STALE)
    if most == 0 or job.is_spent(most):
        _judge_count(space, job.names, b"failed")
        death = Death.of(job)
        script.ending_leases(active)
        leave_active(active, job)
        death.come(error)
        script.close()
        return b"dead"
    script.ending_leases(active)
    waiting = space.zset(given.keys["schedule"])
    leave_active(active, job)
    job.row.set(b"last_error", error)
    job.row.set(b"state", b"scheduled")
    waiting.add(job.id, space.now_ms + given.number("delay_ms"))
    script.close()
    return b"scheduled"


@dataclass(frozen=True, slots=True)
class Death:
    """All that the death of one job writes, in hand: the end of a job without attempts left, by retry or by reap."""

    job: Job
    parent: Parent | None
    dead: ZSet

    @classmethod
    def of(cls, job: Job) -> "Death":
        """Take it in hand. Raises `Damage`."""
        return cls(job, parent_of(job), job.script.zset(b"dead"))

    def come(self, error: bytes) -> None:
        """Put the job, which is out of flight, to dead with its error; count it; tell its parent (rule 9: W14)."""
        row, space = self.job.row, self.job.space
        row.set(b"last_error", error)
        row.set(b"state", b"dead")
        row.set(b"died_at", space.now_ms)
        self.dead.add(self.job.id, 0)
        _count(space, self.job.names, b"failed")
        if self.parent is not None:
            self.parent.died(self.job, error, now_ms=space.now_ms)


def _judge_count(space: Keyspace, names: Names, metric: bytes) -> None:
    """Judge a metric before it is raised. For single jobs; a batch goes on uncounted. Raises `Damage`."""
    space.hash(names.of(b"metrics:" + metric)).number(b"count")


def _count(space: Keyspace, names: Names, metric: bytes) -> None:
    with suppress(Damage):
        space.hash(names.of(b"metrics:" + metric)).add(b"count", 1)


# --- release, delay -------------------------------------------------------------------------------------------------


def release(space: Keyspace, given: Given) -> Reply:
    """Give a leased job back with the attempt not spent: [released], [stale] or [gone]."""
    script = Script(space, given.names)
    job = take(script, given.args["id"])
    if job is None:
        return [b"gone"]
    if not job.shown(given.args["token"]):
        return [b"stale"]
    active = space.zset(given.keys["active"])
    job.row.number(b"unspent")
    job.to_be_ready()
    script.ending_leases(active)
    if job.id not in active:
        return [b"stale"]
    leave_active(active, job)
    job.row.add(b"unspent", 1)
    make_ready(job)
    script.close()
    return [b"released"]


def delay(space: Keyspace, given: Given) -> Reply:
    """Postpone a job by its holder: 1, EMQSTALE (`job gone` when it is) or EMQKIND. Step L comes first (W6)."""
    job_id = given.args["id"]
    if not is_job_id(job_id):
        return ErrorReply(f"EMQKIND {job_id.decode('utf-8', 'replace')} does not begin with JOB")
    script = Script(space, given.names)
    job = take(script, job_id)
    if job is None:
        return ErrorReply("EMQSTALE job gone")
    active = _leases_of_holder(space, given, job)
    if active is None:
        return ErrorReply(STALE)
    waiting = space.zset(given.keys["schedule"])
    if given.args["unspent"] == b"1":
        job.row.number(b"unspent")
    script.ending_leases(active)
    leave_active(active, job)
    if given.args["unspent"] == b"1":
        job.row.add(b"unspent", 1)
    job.row.set(b"state", b"scheduled")
    waiting.add(job.id, due_at(space, given))
    script.close()
    return 1


# --- extend ---------------------------------------------------------------------------------------------------------


def extend(space: Keyspace, given: Given) -> Reply:
    """Move a lease forward: 1, -1 when the job is gone, or EMQSTALE. What is not leased is not revived (W5)."""
    script = Script(space, given.names)
    job = take(script, given.args["id"])
    if job is None:
        return -1
    if not job.shown(given.args["token"]) or job.id not in (active := space.zset(given.keys["active"])):
        return ErrorReply(STALE)
    active.add(job.id, space.now_ms + given.number("lease_ms"))
    return 1


def extend_many(space: Keyspace, given: Given) -> Reply:
    """Move leases forward, all to one deadline: the ids that could not be, whatever the reason."""
    script, active = Script(space, given.names), space.zset(given.keys["active"])
    until = space.now_ms + given.number("lease_ms")
    found = {job_id: judge(script, job_id) for job_id, _ in given.more_args}
    not_extended = []
    for job_id, token in given.more_args:
        job = found[job_id]
        if isinstance(job, NoJob) or not job.shown(token) or job_id not in active:
            not_extended.append(job_id)
        else:
            active.add(job_id, until)
    return not_extended


BODIES: Final[Bodies] = {
    "complete": complete,
    "complete_many": complete_many,
    "retry": retry,
    "release": release,
    "delay": delay,
    "extend": extend,
    "extend_many": extend_many,
}
