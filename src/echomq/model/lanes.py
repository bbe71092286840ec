"""Where a ready job waits: the flat set, or the lane of its group on the ring (protocol 0, 2.3; docs/wire.md, rule 7).

A group is *serviceable* when its lane is not empty, it is not parked, and fewer of its jobs are in flight than its
limit allows. The ring holds each serviceable group once. Everything that can make a group serviceable asks rule `R` to
enter it.

Two things happen to a job's place, and each kind of place knows what they mean for it:

- a job comes into it (`put`), or goes out of it unserved (`take_out`);
- a lease of one of its jobs ends (`lease_ended`), which for a group frees a seat below the limit.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from echomq.model.keyspace import Damage, Keyspace
from echomq.model.names import Names
from echomq.model.values import Hash, List, MemberSet
from echomq.model.view import counted
from echomq.model.zset import ZSet

__all__ = ["FlatPlace", "LanePlace", "Place", "Rota", "end_lease_of", "place_of", "ready_key", "take_out_of"]

WAKES_MAX: Final = 64
"""The most wake tokens that are kept (protocol 0, rule R, step 5)."""


class Place(Protocol):
    """Where one job waits when it is ready."""

    def put(self, job: bytes) -> None:
        """Let the job wait here, at its mint place: all scores are 0, so the order is that of the ids."""
        ...

    def take_out(self, job: bytes) -> None:
        """Take the job out unserved; nothing happens when it is not here."""
        ...

    def lease_ended(self) -> None:
        """Account for a job of this place that is no longer in flight."""
        ...


@dataclass(frozen=True, slots=True)
class FlatPlace:
    """The flat set of a queue, `pending`, for jobs without a group."""

    pending: ZSet

    def put(self, job: bytes) -> None:
        """Let the job wait here."""
        self.pending.add(job, 0)

    def take_out(self, job: bytes) -> None:
        """Take the job out unserved."""
        self.pending.remove(job)

    def lease_ended(self) -> None:
        """Nothing is counted for the flat set."""


@dataclass(frozen=True, slots=True)
class Rota:
    """What all groups of a queue share: the ring and what decides about a place on it."""

    ring: List
    parked: MemberSet
    limits: Hash
    in_flight: Hash
    wake: List

    @classmethod
    def of(cls, space: Keyspace, names: Names) -> "Rota":
        """Take the rota of a queue in hand. Raises `WrongKind`."""
        return cls(
            in_flight=space.hash(names.of(b"gactive")),
            limits=space.hash(names.of(b"glimit")),
            parked=space.set(names.of(b"paused")),
            ring=space.list(names.of(b"ring")),
            wake=space.list(names.of(b"wake")),
        )

    def enter(self, group: bytes, lane: ZSet, *, in_flight: int) -> None:
        """Rule `R(g, act)`: put a group on the ring if it is serviceable and not there, and wake one parked worker.

        `in_flight` is how many jobs of the group the caller knows to be running.
        """
        if group in self.parked or not len(lane) or self.at_limit(group, in_flight) or group in self.ring:
            return
        self.ring.push(group)
        self.wake.push_head(b"1")
        self.wake.keep_first(WAKES_MAX)

    def at_limit(self, group: bytes, in_flight: int) -> bool:
        """Whether so many running jobs are all that the group's limit allows. One that is no number limits nothing."""
        limit = counted(self.limits.get(group) or b"")
        return limit is not None and in_flight >= limit

    def one_less(self, group: bytes) -> int:
        """Count one job of the group out of flight and return how many are left (`gactive`, removed at 0 and below)."""
        return _one_less(self.in_flight, group)


@dataclass(frozen=True, slots=True)
class LanePlace:
    """The lane of one group."""

    group: bytes
    lane: ZSet
    rota: Rota

    def put(self, job: bytes) -> None:
        """Let the job wait here, and the group take its turn (rule R)."""
        self.lane.add(job, 0)
        self.rota.enter(self.group, self.lane, in_flight=self.rota.in_flight.number(self.group))

    def take_out(self, job: bytes) -> None:
        """Take the job out unserved; a lane that it leaves empty leaves the ring."""
        if self.lane.remove(job) and not len(self.lane):
            self.rota.ring.remove_all(self.group)

    def lease_ended(self) -> None:
        """Free a seat below the group's limit, and let the group take its turn (rule R)."""
        in_flight = self.rota.one_less(self.group)
        self.rota.enter(self.group, self.lane, in_flight=in_flight)


def ready_key(names: Names, group: bytes | None) -> bytes:
    """Return the key of the set in which a job of this group, or of none, waits."""
    return names.of(b"pending") if group is None else names.lane(group)


def place_of(space: Keyspace, names: Names, group: bytes | None) -> Place:
    """Return where a job of this group, or of none, waits when it is ready. Raises `Damage` for what cannot be kept."""
    if group is None:
        return FlatPlace(space.zset(ready_key(names, group)))
    rota = Rota.of(space, names)
    rota.in_flight.number(group)  # judged here: a count that is no number must not fail in the middle of the writes
    return LanePlace(group, space.zset(names.lane(group)), rota)


def end_lease_of(space: Keyspace, names: Names, group: bytes | None) -> None:
    """Account for a job that is no longer in flight, as far as its place is sound: else only the count is lowered."""
    try:
        place = place_of(space, names, group)
    except Damage:
        with suppress(Damage):
            in_flight = space.hash(names.of(b"gactive"))
            in_flight.number(group or b"")
            _one_less(in_flight, group or b"")
    else:
        place.lease_ended()


def take_out_of(space: Keyspace, names: Names, group: bytes | None, job: bytes) -> None:
    """Take a job out of its place unserved, as far as that is sound."""
    with suppress(Damage):
        ready = space.zset(ready_key(names, group))
        if ready.remove(job) and group is not None and not len(ready):
            space.list(names.of(b"ring")).remove_all(group)


def _one_less(in_flight: Hash, group: bytes) -> int:
    left = in_flight.add(group, -1)
    if left <= 0:
        in_flight.remove(group)
    return left
