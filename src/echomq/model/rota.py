"""Whose turn it is: one walk along the rota (docs/wire.md, `take`, 2 and 3).

The rota is the ring with the flat set among its lanes. Whoever has its turn serves as much as its weight, its limit and
the caller's room allow, and goes to the tail. So nobody waits longer than the others' turns, however much work they
have.

Pure: lanes are names, and what a lane can do is asked of a `Stall`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from echomq.model.manners import Reads

__all__ = ["SPARE", "Name", "Rota", "Stall", "Unfinished", "Walked", "flat_place", "walk"]

Name: TypeAlias = bytes | None
"""A lane by its group; None is the flat set."""

SPARE: Final = 100
"""How many entries of the ring, and how many rows, a walk may look at beyond its room."""


class Stall(Protocol):
    """One lane at its turn."""

    @property
    def is_damaged(self) -> bool:
        """Whether its keys cannot be kept in order: it is not served, and keeps its place."""
        ...

    @property
    def weight(self) -> int:
        """How many jobs a turn serves; 1 for the flat set."""
        ...

    @property
    def servable(self) -> int:
        """How many jobs it could serve on: those that wait, as far as its limit allows."""
        ...

    def serve(self, most: int, reads: Reads) -> int:
        """Serve up to so many jobs within the rows that may be read; say how many."""
        ...


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A turn that the end of a call's room cut short: whose it is, and how much of its weight is left."""

    group: bytes
    left: int


@dataclass(frozen=True, slots=True)
class Rota:
    """Where the rota stands.

    `flat` is how many entries of the ring are ahead of the flat set, None when nothing waits there. `unfinished` is the
    turn that the last call left.
    """

    ring: Sequence[bytes]
    flat: int | None = None
    unfinished: Unfinished | None = None


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk has made of the rota. `met` are the lanes that it met, in order, `damaged` those of them that are."""

    rota: Rota
    met: tuple[bytes, ...]
    damaged: frozenset[bytes]


def flat_place(flat: int | None, ring_length: int) -> int:
    """Return how many entries are ahead of the flat set: as the rota says, at most all; all when it says nothing."""
    return ring_length if flat is None or flat < 0 else min(flat, ring_length)


def walk(rota: Rota, stalls: Callable[[Name], Stall], *, room: int, reads: Reads) -> Walked:
    """Give lanes their turns until the room is used, or `reads` is, or nothing is left that can be served."""
    the = _Walk(rota, stalls, window=min(len(rota.ring), room + SPARE))
    while room > 0 and reads.left > 0:
        head = the.next_head()
        if head is None:
            break
        room -= the.give_turn(head[0], room, reads, in_front=head[1])
    return the.result()


@dataclass(slots=True)
class _Walk:
    """The entries in front, `passed` of which are done with; the flat set; and those that have gone to the tail.

    `window` is how many entries in front are looked at. `held` are damaged lanes that have come round again: they go to
    the tail once.
    """

    rota: Rota
    stalls: Callable[[Name], Stall]
    window: int
    passed: int = 0
    flat_at: int | None = field(init=False)
    tail: deque[Name] = field(default_factory=deque)
    held: list[bytes] = field(default_factory=list)
    met: list[bytes] = field(default_factory=list)
    damaged: set[bytes] = field(default_factory=set)
    unfinished: Unfinished | None = None

    def __post_init__(self) -> None:
        self.flat_at = self.rota.flat

    def next_head(self) -> tuple[Name, bool] | None:
        """Take the next off the rota, and say whether it stood in front; None at the end of the turns.

        They go round when the window is the whole ring, and else end with it.
        """
        if self.flat_at == self.passed:
            self.flat_at = None
            return None, True
        if self.passed < self.window:
            self.passed += 1
            return self.rota.ring[self.passed - 1], True
        if self.window == len(self.rota.ring) and self.tail:
            return self.tail.popleft(), False
        return None

    def give_turn(self, name: Name, room: int, reads: Reads, *, in_front: bool) -> int:
        """Let a lane have its turn, and put it where it belongs then: how many jobs it served."""
        again = name in self.met
        if again and in_front:
            return 0  # the second entry of a group is dropped
        share = self._share(name, again=again)
        stall = self.stalls(name)
        if name is not None and not again:
            self.met.append(name)
        if name is not None and stall.is_damaged:
            self.damaged.add(name)
            if again:
                self.held.append(name)
            else:
                self.tail.append(name)
            return 0
        if not stall.servable:
            return 0  # it is dropped, and this was no turn
        share = stall.weight if share is None else share
        served = stall.serve(min(share, room), reads)
        if stall.servable and served < share:
            self._stay(name, served, share, in_front=in_front)
        elif stall.servable:
            self.tail.append(name)
        return served

    def _share(self, name: Name, *, again: bool) -> int | None:
        """Return what is left of the turn that the last call left, if this is its lane and still the head."""
        turn = self.rota.unfinished
        goes_on = turn is not None and name == turn.group and self.passed == 1 and not again
        return turn.left if turn is not None and goes_on else None

    def _stay(self, name: Name, served: int, share: int, *, in_front: bool) -> None:
        """Leave a lane where it stood: the room ended in its turn, or no more rows may be read."""
        goes_on = served > 0 or self._share(name, again=not in_front) is not None
        if not in_front:
            self.tail.appendleft(name)
        elif name is None:
            self.flat_at = self.passed
        else:
            self.passed -= 1
        if name is not None and goes_on:
            self.unfinished = Unfinished(name, share - served)

    def result(self) -> Walked:
        """Return where the rota stands now."""
        front = self.rota.ring[self.passed :]
        flat = None if self.flat_at is None else self.flat_at - self.passed
        if None in self.tail:
            flat = len(front) + len(self.held) + self.tail.index(None)
        ring = (*front, *self.held, *(name for name in self.tail if name is not None))
        return Walked(Rota(ring, flat, self.unfinished), tuple(self.met), frozenset(self.damaged))
