"""Admission: enqueue, genqueue, enqueue_many, schedule (protocol 4.1, 4.2, 4.16.1; docs/wire.md)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from echomq.model.given import Bodies, Given
from echomq.model.jobs import broken_row, is_broken
from echomq.model.keyspace import Keyspace
from echomq.model.lanes import Place
from echomq.model.script import Script
from echomq.model.values import Hash
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["BODIES", "due_at", "is_job_id"]


def enqueue(space: Keyspace, given: Given) -> Reply:
    """Admit one job that is ready to run. 1, 0 for a duplicate, or EMQKIND: policy, then existence, then write.

    With the key `wake`, one wake-up is left when no token lies there (rule 12).
    """
    script = Script(space, given.names)
    answer = _admit_one(script, given, lambda: _ready_place(script, given), b"pending", None)
    if answer == 1 and "wake" in given.keys:
        script.close()
    return answer


def genqueue(space: Keyspace, given: Given) -> Reply:
    """Admit one job that is ready to run into a lane. As `enqueue`; without the key `lanes` just what is published."""
    script, group = Script(space, given.names), given.args["group"]
    answer = _admit_one(script, given, lambda: script.place(group), b"pending", group)
    if answer == 1:
        script.close(published="lanes" not in given.keys)
    return answer


def schedule(space: Keyspace, given: Given) -> Reply:
    """Admit one job that waits for an instant, for its lane when it has a group. As `enqueue`, at the due ms.

    With the key `wake`, a job that is the first of all leaves one wake-up, so that somebody watches for it.
    """
    script, due, wakes = Script(space, given.names), due_at(space, given), "wake" in given.keys

    def place() -> "_Schedule":
        if wakes:
            space.list(given.keys["wake"])
        return _Schedule(space.zset(given.keys["schedule"]), due)

    answer = _admit_one(script, given, place, b"scheduled", given.args["group"] or None)
    if answer == 1 and wakes and space.zset(given.keys["schedule"]).heads(1) == (given.args["id"],):
        script.leave_wakes(worth=1)
    return answer


def enqueue_many(space: Keyspace, given: Given) -> Reply:
    """Admit jobs in one step: 1 or 0 for each in order. One foreign id refuses them all, and nothing is written.

    So does one broken row, and one damaged lane of a job that is to be admitted.
    """
    script = Script(space, given.names)
    fresh: set[bytes] = set()
    for job, _payload, _cap, group in given.more_args:
        if not is_job_id(job):
            return ErrorReply(f"EMQKIND {job.decode('utf-8', 'replace')} is no job id")
        if is_broken(script, job):
            return broken_row(job)
        if b"attempts" not in space.hash(given.names.row(job)) and job not in fresh:
            script.ready_place(group or None)
            fresh.add(job)
    answers: list[Reply] = []
    for job, payload, cap, group in given.more_args:
        row = space.hash(given.names.row(job))
        answers.append(0 if b"attempts" in row else 1)
        if b"attempts" not in row:
            _admit(row, script.place(group or None), job, b"pending", payload, cap, group or None)
    script.close()
    return answers


def is_job_id(job: bytes) -> bool:
    """Whether a server takes the id for a job's: the first three bytes decide (protocol 1.4)."""
    return job.startswith(b"JOB")


def due_at(space: Keyspace, given: Given) -> int:
    """Return the instant that `mode` and `value` name: ``in`` counts from the server's clock, ``at`` is absolute."""
    value = given.number("value")
    return space.now_ms + value if given.args["mode"] == b"in" else value


class _Target(Protocol):
    """Where an admitted job is put."""

    def put(self, job: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class _Schedule:
    """The set `schedule` at one instant."""

    waiting: ZSet
    due_ms: int

    def put(self, job: bytes) -> None:
        self.waiting.add(job, self.due_ms)


def _ready_place(script: Script, given: Given) -> Place:
    return script.ready_place(None) if "wake" in given.keys else script.place(None)


def _admit_one(script: Script, given: Given, target: Callable[[], _Target], state: bytes, group: bytes | None) -> Reply:
    """Admit one job where `target` says, which is asked, and may raise `Damage`, when there is something to write."""
    job = given.args["id"]
    if not is_job_id(job):
        return ErrorReply(f"EMQKIND {job.decode('utf-8', 'replace')} does not begin with JOB")
    if is_broken(script, job):
        return broken_row(job)
    row = script.space.hash(given.keys["job"])
    if b"attempts" in row:
        return 0
    _admit(row, target(), job, state, given.args["payload"], given.args["max_attempts"], group)
    return 1


def _admit(
    row: Hash, target: _Target, job: bytes, state: bytes, payload: bytes, cap: bytes, group: bytes | None
) -> None:
    row.delete()  # a skeleton is no job, and must not make its id a duplicate for ever (rule 2: W4, W36)
    target.put(job)
    row.set(b"state", state)
    row.set(b"attempts", 0)
    row.set(b"payload", payload)
    if group is not None:
        row.set(b"group", group)
    if cap:
        row.set(b"max_attempts", cap)


BODIES: Final[Bodies] = {
    "enqueue": enqueue,
    "genqueue": genqueue,
    "enqueue_many": enqueue_many,
    "schedule": schedule,
}
