"""What an id stands for, and the moves that many transitions share (docs/wire.md, rules 2 to 5, 7, 8).

Taking a job in hand reads its row and judges its numbers. What else a move will write is taken in hand by the body that
makes it: a key that a call has no need of does not disturb it, whatever it holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self

from echomq.model.keyspace import Damage, Keyspace, WrongKind
from echomq.model.lanes import Place
from echomq.model.names import Names
from echomq.model.script import Script
from echomq.model.values import Hash
from echomq.model.zset import ZSet
from echomq.resp.reply import ErrorReply

__all__ = [
    "COMPANIONS",
    "STALE",
    "Job",
    "NoJob",
    "broken_row",
    "bury",
    "delete_job",
    "is_broken",
    "judge",
    "lane_damage",
    "leave_active",
    "make_ready",
    "set_aside",
    "take",
]

COMPANIONS: Final = (b"logs", b"lock", b"dependencies", b"processed", b"failed", b"unsuccessful")
"""The keys beside a row that live and die with the job (docs/wire.md, rule 8)."""

STALE: Final = "EMQSTALE the token is not that of a current holder"


class NoJob(Enum):
    """What an id in a set can be instead of a job."""

    GHOST = "the row is absent, or lacks `attempts`"
    BROKEN = "the row is a key of another kind than hash"


@dataclass(frozen=True, slots=True)
class Job:
    """A job in hand: its row, and the script that has it in hand."""

    id: bytes
    row: Hash
    script: Script

    @property
    def space(self) -> Keyspace:
        """The database."""
        return self.script.space

    @property
    def names(self) -> Names:
        """The keys of its queue."""
        return self.script.names

    @property
    def place(self) -> Place:
        """Where it waits when it is ready. Raises `Damage`."""
        return self.script.place(self.group)

    def in_hand(self) -> Self:
        """Return the job once all that taking it out of its place may write is judged. Raises `Damage`."""
        self.script.place(self.group)
        return self

    def to_be_ready(self) -> Self:
        """Return the job once all that making it ready may write is judged. Raises `Damage`."""
        self.script.ready_place(self.group)
        return self

    @property
    def is_ready(self) -> bool:
        """Whether it waits to be served. Raises `Damage`."""
        ready = self.place.ready
        return ready is not None and self.id in ready

    @property
    def token(self) -> bytes:
        """The current attempt's number, as the text that a holder has to show."""
        made = self.row.get(b"attempts")
        return b"0" if made is None else made

    @property
    def state(self) -> bytes:
        """The state that the row says."""
        return self.row.get(b"state") or b""

    @property
    def group(self) -> bytes | None:
        """The job's group, None for the flat set."""
        return self.row.get(b"group")

    @property
    def spent(self) -> int:
        """How many attempts count against a cap (docs/wire.md, rule 5)."""
        return self.row.number(b"attempts") - self.row.number(b"unspent")

    def is_spent(self, otherwise: int | None) -> bool:
        """Whether no attempt is left under the job's own cap, or else under the caller's; without any there is.

        Raises `NotANumber`.
        """
        spent = self.spent
        cap = self.row.number(b"max_attempts") if b"max_attempts" in self.row else otherwise
        return cap is not None and spent >= cap

    def shown(self, token: bytes) -> bool:
        """Whether this is the current attempt's token (docs/wire.md, rule 4). 0 is no attempt: nobody has claimed."""
        return token == self.token and token != b"0"


def take(script: Script, job: bytes) -> Job | None:
    """Take a job in hand; None when there is none (rule 2). Raises `WrongKind` for a broken row (rule 3)."""
    row = script.space.hash(script.names.row(job))
    return Job(job, row, script) if b"attempts" in row else None


def judge(script: Script, job: bytes) -> Job | NoJob:
    """Take a job in hand for a bulk transition, which a broken row must not stop (rule 3)."""
    if is_broken(script, job):
        return NoJob.BROKEN
    return take(script, job) or NoJob.GHOST


def is_broken(script: Script, job: bytes) -> bool:
    """Whether the key of the row holds something that is no hash."""
    try:
        script.space.hash(script.names.row(job))
    except WrongKind:
        return True
    return False


def broken_row(job: bytes) -> ErrorReply:
    """Return the refusal of a transition that met a broken row."""
    return ErrorReply(f"WRONGTYPE the row of {job.decode('utf-8', 'replace')} is not a hash")


def bury(script: Script, broken: Iterable[bytes]) -> None:
    """Put ids whose row is broken to dead, and write nothing to the row (rule 3)."""
    for job in broken:
        script.zset(b"dead").add(job, 0)


def lane_damage(job: Job) -> Damage | None:
    """Return what keeps a job's lane from being written, None for a sound lane and for an ungrouped job."""
    return None if job.group is None else job.script.lane(job.group).trouble


def set_aside(job: Job, damage: Damage) -> None:
    """Put a job that cannot be served to dead with the reason (rule 3). Nothing is counted, and no parent is told."""
    job.script.zset(b"dead").add(job.id, 0)
    job.row.set(b"last_error", damage.text)
    job.row.set(b"state", b"dead")
    job.row.set(b"died_at", job.space.now_ms)


def leave_active(active: ZSet, job: Job) -> None:
    """Step `L(id, g)`: take a job out of flight, or out of its ready set when its lease lapsed (protocol 0)."""
    place = job.place
    if active.remove(job.id):
        place.fly(-1)
    else:
        place.take_out(job.id)


def make_ready(job: Job) -> None:
    """Put a job where it waits to be served (rule 7: W8)."""
    job.place.put(job.id)
    job.row.set(b"state", b"pending")


def delete_job(space: Keyspace, names: Names, job: bytes) -> None:
    """Delete a row, of whatever kind, and all that belongs to it (rule 8: W39)."""
    space.delete(names.row(job))
    for what in COMPANIONS:
        space.delete(names.beside_row(job, what))
