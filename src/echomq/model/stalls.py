"""A lane, or the flat set, at its turn in a claim: what it serves is planned here and written afterwards."""

from dataclasses import dataclass, field
from typing import Final

from echomq.model.heads import Passed, is_fresh, judge_head, peek
from echomq.model.jobs import Job
from echomq.model.keyspace import Damage
from echomq.model.lanes import Lane
from echomq.model.manners import Head, Line, Reads
from echomq.model.rota import Name
from echomq.model.script import Script
from echomq.model.view import counted
from echomq.model.zset import ZSet

__all__ = ["WEIGHT_MAX", "DamagedStall", "StallOf", "lane_weight", "open_stall"]

WEIGHT_MAX: Final = 1000
"""The greatest weight, and the most that is left of a turn, whatever another program wrote."""


@dataclass(slots=True)
class StallOf:
    """See `rota.Stall`. `served` are the jobs that it has served so far; `log` has those of all stalls, in order."""

    script: Script
    group: Name
    ready: ZSet
    lane: Lane | None
    weight: int
    passed: Passed
    log: list[tuple[Name, Job]]
    line: Line = field(init=False)
    served: list[Job] = field(init=False, default_factory=list)
    _ids: tuple[bytes, ...] = field(init=False)
    _jobs: dict[int, Job] = field(init=False, default_factory=dict)
    _gone: list[bytes] = field(init=False, default_factory=list)
    """What is no job of this lane."""

    def __post_init__(self) -> None:
        self._ids = self.ready.heads(len(self.ready))
        self.line = Line(len(self._ids), self._look, lambda place: peek(self.script, self._ids[place]))

    @property
    def is_damaged(self) -> bool:
        """A damaged lane has no stall of this kind."""
        return False

    @property
    def servable(self) -> int:
        """How many it could serve on."""
        seats = self.line.waiting
        if self.lane is not None and self.lane.limit is not None:
            seats = min(seats, self.lane.limit - self.lane.before.in_flight - len(self.served))
        return 0 if self.lane is not None and self.lane.parked else max(seats, 0)

    def serve(self, most: int, reads: Reads) -> int:
        """Plan up to so many jobs more, and say how many."""
        jobs = [self._jobs[place] for place in self.line.serve(min(most, self.servable), reads)]
        self.served += jobs
        self.log += ((self.group, job) for job in jobs)
        return len(jobs)

    def leave(self) -> None:
        """Write that what was served and what was passed over is not here any more, and what is in flight."""
        for job_id in (*self._gone, *(job.id for job in self.served)):
            self.ready.remove(job_id)
        if self.lane is not None and self.served:
            self.lane.fly(len(self.served))

    def _look(self, place: int) -> Head:
        job = judge_head(self.script, self._ids[place], self.group, self.passed)
        if job is None:
            self._gone.append(self._ids[place])
            return Head.NOTHING
        self._jobs[place] = job
        return Head.FRESH if is_fresh(job) else Head.TRIED


@dataclass(frozen=True, slots=True)
class DamagedStall:
    """The stall of a damaged lane: it serves nothing."""

    is_damaged: bool = True
    weight: int = 1
    servable: int = 0

    def serve(self, most: int, reads: Reads) -> int:
        """Serve nothing."""
        return 0


def open_stall(script: Script, group: Name, passed: Passed, log: list[tuple[Name, Job]]) -> StallOf | DamagedStall:
    """Open the stall of a lane that a claim meets on the ring, or of the flat set. It adds to `passed` and `log`."""
    if group is None:
        return StallOf(script, None, script.zset(b"pending"), None, 1, passed, log)
    lane = script.meet(group)
    if lane.ready is None or lane.trouble is not None:
        return DamagedStall()
    return StallOf(script, group, lane.ready, lane, lane_weight(script, group), passed, log)


def lane_weight(script: Script, group: bytes) -> int:
    """Return how many jobs a lane serves in one turn, 1 to 1000: a weight that is no number of at least 1 is 1."""
    try:
        weight = counted(script.space.hash(script.names.of(b"gweight")).get(group) or b"")
    except Damage:
        return 1
    return min(weight, WEIGHT_MAX) if weight is not None and weight >= 1 else 1
