"""What one script has in hand: the queue's keys, the lanes it has looked at, and what follows from their moves.

A body makes one `Script`, takes in hand what it is going to write, makes its moves, and closes the lanes once at the
end: their places on the ring, the list of live lanes, and the wake-ups (docs/wire.md, rules 10 to 12).
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from echomq.model.keyspace import Damage, Keyspace
from echomq.model.lanes import Flat, Lane, Place, RingMove, ring_move
from echomq.model.names import Names
from echomq.model.view import counted
from echomq.model.waking import WAKES_MAX, left_by_moves
from echomq.model.zset import ZSet

__all__ = ["Script", "ceiling_of", "probe"]

T = TypeVar("T")


class Script:
    """One run of a transition over one queue."""

    def __init__(self, space: Keyspace, names: Names) -> None:
        self.space = space
        self.names = names
        self._lanes: dict[bytes, Lane] = {}
        self._flat: Flat | None = None
        self._ceiling: tuple[ZSet, int, int] | None = None

    # --- looking ----------------------------------------------------------------------------------------------------

    def lane(self, group: bytes) -> Lane:
        """Take a lane in hand, damaged or not: the same one throughout the script. The first look counts."""
        found = self._lanes.get(group)
        if found is None:
            found = self._lanes[group] = self._look(group)
        return found

    def meet(self, group: bytes) -> Lane:
        """As `lane`, for a claim, which meets it on the ring: what other speakers did to it is listed as well."""
        lane = self.lane(group)
        if lane.trouble is None:
            lane.listed = group in self.zset(b"lanes")
        return lane

    def place(self, group: bytes | None) -> Place:
        """Take in hand where a job of this group, or of none, waits when it is ready. Raises `Damage`."""
        if group is None:
            if self._flat is None:
                self._flat = Flat(self.zset(b"pending"))
            return self._flat
        lane = self.lane(group)
        if lane.trouble is not None:
            raise lane.trouble
        return lane

    def ready_place(self, group: bytes | None) -> Place:
        """As `place`, for a job that is going to be put there, which wakes somebody. Raises `Damage`."""
        place = self.place(group)
        self.space.list(self.names.of(b"wake"))
        return place

    def ending_leases(self, active: ZSet) -> None:
        """Note how many were in flight before leases end under a ceiling: somebody may wait for their seats.

        Raises `WrongKind` when wake-ups could not be left for them.
        """
        most = ceiling_of(self.space, self.names)
        if most is not None:
            self._ceiling = active, most, len(active)
            self.space.list(self.names.of(b"wake"))

    def zset(self, suffix: bytes) -> ZSet:
        """Return a sorted set that the queue has once. Raises `WrongKind`."""
        return self.space.zset(self.names.of(suffix))

    def _look(self, group: bytes) -> Lane:
        space, names = self.space, self.names
        counts, no_counts = probe(lambda: space.hash(names.of(b"gactive")))
        in_flight, no_number = (None, no_counts) if counts is None else probe(lambda: counts.number(group))
        limits, no_limits = probe(lambda: space.hash(names.of(b"glimit")))
        parked, no_parking = probe(lambda: space.set(names.of(b"paused")))
        ready, no_lane = probe(lambda: space.zset(names.lane(group)))
        _, no_ring = probe(lambda: space.list(names.of(b"ring")))
        _, no_wake = probe(lambda: space.list(names.of(b"wake")))
        _, no_list = probe(lambda: space.zset(names.of(b"lanes")))
        return Lane(
            group=group,
            ready=ready,
            counts=counts,
            in_flight=in_flight,
            limit=None if limits is None else counted(limits.get(group) or b""),
            parked=parked is not None and group in parked,
            trouble=no_number or no_limits or no_parking or no_lane or no_ring or no_wake or no_list,
        )

    # --- closing ----------------------------------------------------------------------------------------------------

    def met(self, groups: Iterable[bytes]) -> None:
        """Close these, which a claim met on the ring, before those that jobs go home to."""
        self._lanes = {**{group: self.lane(group) for group in groups}, **self._lanes}

    def close(self, *, published: bool = False) -> None:
        """Close the lanes in the order of their first looks, then leave wake-ups: once, at the end of a script.

        With `published` only what protocol 4.16.1 says: no list of live lanes, and the tokens `1` alone.
        """
        entered, worth = 0, 0 if self._flat is None else self._flat.arrived
        for lane in self._lanes.values():
            entered += self._move_on_ring(lane) is RingMove.ENTER
            if lane.trouble is None:
                worth += max(lane.now.servable - lane.before.servable, 0)
            if not published:
                self._keep_list(lane)
        self.leave_wakes(entered=entered, worth=entered if published else max(worth, self._free_seats()))

    def _move_on_ring(self, lane: Lane) -> RingMove:
        ring_key = self.names.of(b"ring")
        if lane.trouble is not None:
            ring, _ = probe(lambda: self.space.list(ring_key))
            if lane.taken_from and not lane.now.depth and ring is not None:
                ring.remove_last(lane.group)
            return RingMove.STAY
        move = ring_move(stands=lane.stands, serviceable=lane.now.serviceable)
        if move is RingMove.ENTER:
            self.space.list(ring_key).push(lane.group)
        elif move is RingMove.LEAVE:
            self.space.list(ring_key).remove_last(lane.group)
        return move

    def _keep_list(self, lane: Lane) -> None:
        listed, _ = probe(lambda: self.zset(b"lanes"))
        if listed is None or lane.ready is None or lane.in_flight is None or lane.now.live == lane.listed:
            return
        if lane.now.live:
            listed.add(lane.group, 0)
        else:
            listed.remove(lane.group)
            owing, _ = probe(lambda: self.space.set(self.names.of(b"fresh_next")))
            if owing is not None:
                owing.remove(lane.group)

    def _free_seats(self) -> int:
        """Return how many seats are free under the ceiling since leases ended, if there is something to serve."""
        if self._ceiling is None or not self.has_work():
            return 0
        active, most, before = self._ceiling
        return max(min(before - len(active), most - len(active)), 0)

    def has_work(self) -> bool:
        """Whether the flat set or the ring is not empty. What cannot be read counts for nothing."""
        pending, _ = probe(lambda: self.zset(b"pending"))
        ring, _ = probe(lambda: self.space.list(self.names.of(b"ring")))
        return bool(pending) or bool(ring)

    def leave_wakes(self, *, entered: int = 0, worth: int) -> None:
        """Push the tokens that are due; nothing when the list is of another kind."""
        wake, _ = probe(lambda: self.space.list(self.names.of(b"wake")))
        tokens = () if wake is None else left_by_moves(lying=len(wake), entered=entered, worth=worth)
        if wake is not None and tokens:
            for token in tokens:
                wake.push_head(token)
            wake.keep_first(WAKES_MAX)


def ceiling_of(space: Keyspace, names: Names) -> int | None:
    """Return the most jobs of the queue in flight, None without a ceiling; what is no number of at least 1 is none."""
    meta, _ = probe(lambda: space.hash(names.of(b"meta")))
    most = counted((meta.get(b"concurrency") if meta is not None else None) or b"")
    return most if most is not None and most >= 1 else None


def probe(look: Callable[[], T]) -> tuple[T | None, Damage | None]:
    """Look at what may be damaged: what is there, or why it cannot be read."""
    try:
        return look(), None
    except Damage as damage:
        return None, damage
