"""What `take` has to do with a sound queue, worked out from docs/wire.md alone and from nothing that a body says.

A queue is sound here when each id in the flat set and in the lanes of the ring is a job that belongs there. What take
does with the others is left to the comparison of the bodies. Which job of a lane comes next is foretold where no more
wait than are looked at one by one.
"""

import itertools
from collections import deque
from dataclasses import dataclass, field

from echomq.records import Taken
from tests.stateful.invariants import View

__all__ = ["Foretold", "check_take", "foretell", "is_sound"]

NEAR = 50
"""How many jobs behind the oldest are looked at one by one."""

FLAT = b""
"""The name of the flat set among the lanes."""


@dataclass
class Foretold:
    """Which lanes are served, in order, and where the rota stands afterwards."""

    served: list[bytes] = field(default_factory=list)
    ring: list[bytes] = field(default_factory=list)
    rota: dict[bytes, bytes] = field(default_factory=dict)
    more: bool = False


def is_sound(view: View) -> bool:
    """Whether every id that take can meet is a job in its own place, and what the rota says are numbers."""
    rota = view.fields(view.keys.rota)
    if view.is_spoilt() or not all(rota.get(field, b"1").isdigit() for field in (b"flat", b"left")):
        return False
    flat = all(job in view.jobs and b"group" not in view.jobs[job] for job in view.members(view.keys.pending))
    return flat and all(
        view.jobs.get(job, {}).get(b"group") == group for group in view.ring() for job in view.lanes[group]
    )


def foretell(view: View, size: int) -> Foretold:
    """Say what a take of up to `size` jobs does to a sound queue that is not paused."""
    seats = _free_seats(view)
    room = size if seats is None else min(size, seats)
    if room <= 0:
        return Foretold(ring=list(view.ring()), rota=dict(view.fields(view.keys.rota)))
    told, order, left = Foretold(), _order(view), _servable(view)
    kept = _unfinished(view)
    while room and order:
        lane = order.popleft()
        share = kept.pop(lane, min(view.weight(lane), 1000))
        kept.clear()
        count = min(share, left[lane], room)
        told.served += [lane] * count
        room -= count
        left[lane] -= count
        if left[lane] and count < share:
            order.appendleft(lane)  # the room has ended in the middle of its turn
            told.rota = {b"turn": lane, b"left": b"%d" % (share - count)}
        elif left[lane]:
            order.append(lane)
    told.ring = [lane for lane in order if lane != FLAT]
    if FLAT in order and (view.ring() or b"flat" in view.fields(view.keys.rota)):
        told.rota[b"flat"] = b"%d" % order.index(FLAT)
    told.more = bool(order) and (seats is None or len(told.served) < seats)
    return told


def check_take(before: View, after: View, size: int, taken: Taken) -> None:
    """The answer and what it left behind are what the page says."""
    told = foretell(before, size)
    got = [FLAT if one.lane is None else one.lane.encode() for one in taken.jobs]
    assert got == told.served, f"the lanes {got} were served, and it is the turn of {told.served}"
    assert list(after.ring()) == told.ring, f"the ring is {after.ring()} and not {told.ring}"
    assert after.fields(after.keys.rota) == told.rota, f"rota is {after.fields(after.keys.rota)} and not {told.rota}"
    assert taken.more is told.more, f"more is {taken.more} and not {told.more}"
    for lane in dict.fromkeys(got):
        _check_manners(before, after, lane, [one.job for one in taken.jobs if (one.lane or "").encode() == lane])


def _check_manners(before: View, after: View, lane: bytes, got: list[bytes]) -> None:
    """A place after a job that is not fresh is a fresh one's; else the oldest is served (point 4 of take)."""
    waiting = sorted(before.lanes[lane] if lane else before.members(before.keys.pending))
    if len(waiting) > NEAR:
        return
    fresh = [_is_fresh(before, job) for job in waiting]
    places, owes = foretell_places(fresh, len(got), owes=lane in before.owing())
    want = [waiting[place] for place in places]
    assert got == want, f"{got} of the lane {lane!r} were served, and it is the turn of {want}"
    owes = owes and len(got) < len(waiting)
    assert (lane in after.owing()) is owes, f"what {lane!r} owes is {after.owing()}"


def foretell_places(fresh: list[bool], count: int, *, owes: bool) -> tuple[list[int], bool]:
    """Say which of at most `NEAR` jobs are served, in order, and whether the next place is a fresh one's.

    The first fresh one is searched once; from there on fresh ones are served until one is met that is not.
    """
    left, places = list(range(len(fresh))), list[int]()
    run: list[int] | None = None
    for _ in range(count):
        place = left[0]
        if owes and not fresh[place]:
            if run is None:
                behind = itertools.dropwhile(lambda at: not fresh[at], left)
                run = list(itertools.takewhile(lambda at: fresh[at], behind))
            ahead = [at for at in run if at in left]
            place = ahead[0] if ahead else place
        left.remove(place)
        places.append(place)
        owes = not fresh[place]
    return places, owes


def _is_fresh(view: View, job: bytes) -> bool:
    row = view.jobs[job]  # a job that was released and then put off has fewer than no attempts spent
    return int(row[b"attempts"]) - int(row.get(b"unspent", b"0")) <= 0


def _free_seats(view: View) -> int | None:
    """Return how many more jobs the queue's ceiling lets fly, None without one."""
    ceiling = view.ceiling()
    return None if ceiling is None else ceiling - len(view.members(view.keys.active))


def _order(view: View) -> deque[bytes]:
    """Return the lanes of the rota with the flat set among them, from where it stands."""
    order = deque(view.ring())
    if view.members(view.keys.pending):
        order.insert(int(view.fields(view.keys.rota).get(b"flat", b"%d" % len(order))), FLAT)
    return order


def _unfinished(view: View) -> dict[bytes, int]:
    """Return what is left of the turn that the last take did not finish, if its lane is still the head."""
    rota, ring = view.fields(view.keys.rota), view.ring()
    return {ring[0]: min(int(rota[b"left"]), 1000)} if ring and rota.get(b"turn") == ring[0] else {}


def _servable(view: View) -> dict[bytes, int]:
    """Return how many jobs each lane of the rota can have served: those that wait, as far as seats are free."""
    left = {FLAT: len(view.members(view.keys.pending))}
    for group in view.ring():
        limit = view.limit(group)
        seats = len(view.lanes[group]) if limit is None else limit - view.flying(group)
        left[group] = min(len(view.lanes[group]), seats)
    return left
