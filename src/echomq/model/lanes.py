"""The policy of fair lanes, and one lane in hand (protocol 0, 2.3; docs/wire.md, rules 10 and 11).

A lane is *serviceable* when jobs wait in it, its group is not parked, and fewer of its jobs are in flight than its
limit allows. A group stands on the ring exactly once while its lane is serviceable, and not at all otherwise. So
nothing looks for it there: how a lane stands before a script and after it says what becomes of its place on the ring.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from echomq.model.keyspace import Damage
from echomq.model.values import Hash
from echomq.model.zset import ZSet

__all__ = ["Flat", "Lane", "Place", "RingMove", "Standing", "ring_move"]


@dataclass(frozen=True, slots=True)
class Standing:
    """All that decides about a lane's place: how many wait, how many are in flight, the limit, and the parking."""

    depth: int
    in_flight: int
    limit: int | None = None
    parked: bool = False

    @property
    def servable(self) -> int:
        """How many jobs could be served now: those that wait, as far as seats are free below the limit."""
        if self.parked:
            return 0
        return self.depth if self.limit is None else max(min(self.depth, self.limit - self.in_flight), 0)

    @property
    def serviceable(self) -> bool:
        """Whether the group belongs on the ring (rule 10)."""
        return self.servable > 0

    @property
    def live(self) -> bool:
        """Whether the lane belongs in `lanes`: jobs of it wait or are in flight (rule 11)."""
        return self.depth > 0 or self.in_flight > 0


class RingMove(Enum):
    """What becomes of a group's place on the ring."""

    ENTER = "to the tail, for it can be served now"
    LEAVE = "off the ring, for it cannot be served any more"
    STAY = "where it is, on the ring or off it"


def ring_move(*, stands: bool, serviceable: bool) -> RingMove:
    """Return what becomes of a group that stands on the ring or not, and can be served afterwards or not (rule 10)."""
    if stands == serviceable:
        return RingMove.STAY
    return RingMove.ENTER if serviceable else RingMove.LEAVE


@dataclass(slots=True)
class Flat:
    """The flat set of a queue, `pending`, where jobs without a group wait. `arrived` is how many joined it."""

    ready: ZSet
    arrived: int = 0

    def put(self, job: bytes) -> None:
        """Let the job wait here, at its mint place: all scores are 0, so the order is that of the ids."""
        self.ready.add(job, 0)
        self.arrived += 1

    def take_out(self, job: bytes) -> bool:
        """Take the job out unserved; say whether it was here."""
        return self.ready.remove(job)

    def fly(self, jobs: int) -> None:
        """Nothing is counted for the flat set."""


@dataclass(slots=True, kw_only=True)
class Lane:
    """The lane of one group, as a script found it (`before`) and as it is now.

    `stands` says whether the group is on the ring: by rule 10 whether the lane was serviceable. `listed` says whether
    it is in `lanes`. `taken_from` says whether a job left the lane.

    `trouble` is what keeps the lane from being kept in order, None for a sound one. Of a damaged lane only what is
    sound is written: `ready` is None when the set is of another kind, `in_flight` when the count is no number.
    """

    group: bytes
    ready: ZSet | None
    counts: Hash | None
    in_flight: int | None
    limit: int | None
    parked: bool
    trouble: Damage | None
    before: Standing = Standing(0, 0)
    stands: bool = False
    listed: bool = False
    taken_from: bool = False

    def __post_init__(self) -> None:
        self.before = self.now
        self.stands, self.listed = self.before.serviceable, self.before.live

    @property
    def now(self) -> Standing:
        """How it stands at this moment."""
        depth = 0 if self.ready is None else len(self.ready)
        return Standing(depth, self.in_flight or 0, self.limit, self.parked)

    def put(self, job: bytes) -> None:
        """Let the job wait here, at its mint place."""
        if self.ready is not None:
            self.ready.add(job, 0)

    def take_out(self, job: bytes) -> bool:
        """Take the job out; say whether it was here."""
        if self.ready is None or not self.ready.remove(job):
            return False
        self.taken_from = True
        return True

    def fly(self, jobs: int) -> None:
        """Count so many jobs more in flight, or fewer. The count is never negative, and absent at 0."""
        if self.counts is None or self.in_flight is None:
            return
        self.in_flight = max(self.in_flight + jobs, 0)
        if self.in_flight:
            self.counts.set(self.group, self.in_flight)
        else:
            self.counts.remove(self.group)


Place: TypeAlias = Flat | Lane
"""Where a job waits when it is ready: the flat set, or the lane of its group (docs/wire.md, rule 7)."""
