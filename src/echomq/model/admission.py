"""Admission: enqueue, enqueue_many, schedule (protocol 4.1, 4.2; docs/wire.md)."""

from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.keyspace import Keyspace
from echomq.model.values import Hash
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES", "due_at", "is_job_id"]


def enqueue(space: Keyspace, given: Given) -> Reply:
    """Admit one job that is ready to run. 1, 0 for a duplicate, or EMQKIND: policy, then existence, then write."""
    return _admit_one(space, given, given.keys["pending"], b"pending", 0)


def schedule(space: Keyspace, given: Given) -> Reply:
    """Admit one job that waits for an instant. As `enqueue`, into `schedule` at the due ms."""
    return _admit_one(space, given, given.keys["schedule"], b"scheduled", due_at(space, given))


def enqueue_many(space: Keyspace, given: Given) -> Reply:
    """Admit jobs in one step: 1 or 0 for each in order. One foreign id refuses them all, and nothing is written."""
    for job, _payload, _cap in given.more_args:
        if not is_job_id(job):
            return ErrorReply(f"EMQKIND {job.decode('utf-8', 'replace')} is no job id")
    names, pending = given.names, space.zset(given.keys["pending"])
    rows = [space.hash(names.row(job)) for job, _payload, _cap in given.more_args]
    return [
        _admit(row, pending, job, b"pending", 0, payload, cap)
        for row, (job, payload, cap) in zip(rows, given.more_args, strict=True)
    ]


def is_job_id(job: bytes) -> bool:
    """Whether a server takes the id for a job's: the first three bytes decide (protocol 1.4)."""
    return job.startswith(b"JOB")


def due_at(space: Keyspace, given: Given) -> int:
    """Return the instant that `mode` and `value` name: ``in`` counts from the server's clock, ``at`` is absolute."""
    value = given.number("value")
    return space.now_ms + value if given.args["mode"] == b"in" else value


def _admit_one(space: Keyspace, given: Given, target: bytes, state: bytes, score: int) -> Reply:
    job = given.args["id"]
    if not is_job_id(job):
        return ErrorReply(f"EMQKIND {job.decode('utf-8', 'replace')} does not begin with JOB")
    row = space.hash(given.keys["job"])
    if b"attempts" in row:
        return 0
    return _admit(row, space.zset(target), job, state, score, given.args["payload"], given.args["max_attempts"])


def _admit(row: Hash, target: ZSet, job: bytes, state: bytes, score: int, payload: bytes, cap: bytes) -> int:
    if b"attempts" in row:
        return 0
    row.delete()  # a skeleton is no job, and must not make its id a duplicate for ever (rule 2: W4, W36)
    target.add(job, score)
    row.set(b"state", state)
    row.set(b"attempts", 0)
    row.set(b"payload", payload)
    if cap:
        row.set(b"max_attempts", cap)
    return 1


BODIES: Final[Bodies] = {"enqueue": enqueue, "enqueue_many": enqueue_many, "schedule": schedule}
