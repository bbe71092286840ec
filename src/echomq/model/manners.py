"""Which job of a lane is served next: retries keep their manners (W32; docs/wire.md, `take`, 4).

A lane serves in mint order, which is the order of its set. But after a job that was tried before, the next place is a
fresh job's: one that was never tried. So old failures cannot keep fresh jobs from running, and where nothing is retried
the order is the published one.

Pure: the places of a lane are numbers from 0, and what lies at a place is asked of two functions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

__all__ = ["Head", "Line", "Reads", "first_fresh"]

NEAR: Final = 50
"""How many jobs behind the oldest are looked at one by one."""


class Head(Enum):
    """What lies at a place."""

    FRESH = "a job none of whose attempts counts"
    TRIED = "a job that was tried before"
    NOTHING = "no job of this lane: it leaves the lane unserved"


@dataclass(slots=True)
class Reads:
    """How many rows a call may still read."""

    left: int


def first_fresh(oldest: int, newest: int, is_fresh: Callable[[int], bool]) -> int | None:
    """Find the first fresh job behind the oldest, which is none: the first among the next 50, if one is fresh.

    Else, and if the newest is fresh, by halving: as if all behind the first fresh one were fresh. Where fresh and tried
    jobs are mixed that far behind, it is one that has a tried job before it. None when nothing is found.
    """
    for place in range(oldest + 1, min(oldest + NEAR, newest) + 1):
        if is_fresh(place):
            return place
    if oldest == newest or not is_fresh(newest):
        return None
    low, high = oldest, newest
    while high - low > 1:
        middle = (low + high) // 2
        if is_fresh(middle):
            high = middle
        else:
            low = middle
    return high


@dataclass(slots=True)
class Line:
    """The jobs of one lane as a call found them, and how far it has served them.

    `size` is how many there were, `waiting` how many are left. `look` judges what lies at a place, once for each;
    `peek` says whether that is a fresh job, for the search. `owes` says whether the next place is a fresh job's.

    Two pointers: `_oldest`, and `_run` behind the fresh jobs that were served out of order, which began at `_began`.
    """

    size: int
    look: Callable[[int], Head]
    peek: Callable[[int], bool]
    owes: bool = False
    has_manners: bool = True
    waiting: int = field(init=False)
    _oldest: int = field(init=False, default=0)
    _began: int | None = field(init=False, default=None)
    _run: int = field(init=False, default=0)
    _runs: bool = field(init=False, default=False)
    _searched: bool = field(init=False, default=False)
    _held: set[int] = field(init=False, default_factory=set)
    """Places whose jobs were looked at and are not served yet; all were tried before."""

    def __post_init__(self) -> None:
        self.waiting = self.size

    def serve(self, most: int, reads: Reads) -> list[int]:
        """Return the places of the next jobs, at most `most`, in the order in which they are served."""
        places: list[int] = []
        while len(places) < most and self.waiting and reads.left:
            place = self._next(reads)
            if place is None:
                break
            if place >= 0:
                places.append(place)
        return places

    def _next(self, reads: Reads) -> int | None:
        """Return the place of the next job, -1 when what lay there was none, None when no more rows may be read."""
        self._pass_the_run()
        oldest = self._oldest
        head = self._look(oldest, reads)
        if head is Head.TRIED and self.owes and self.has_manners:
            if not reads.left:
                return None
            instead = self._next_of_the_run(reads)
            if instead is not None:
                self.owes = False
                return instead
            if self._runs:
                return None
        if head is None:
            return None
        self._oldest += 1
        self._held.discard(oldest)
        self.waiting -= 1
        if head is Head.NOTHING:
            return -1
        self.owes = self.has_manners and head is Head.TRIED
        return oldest

    def _pass_the_run(self) -> None:
        """Go on behind the run when the oldest job is the one with which it began."""
        if self._oldest == self._began:
            self._oldest, self._began, self._runs = self._run, None, False

    def _next_of_the_run(self, reads: Reads) -> int | None:
        """Return the place of the next fresh job behind the oldest, None when there is none, or no more may be read."""
        if not self._searched:
            self._searched = True
            self._began = first_fresh(self._oldest, self.size - 1, self.peek)
            self._run, self._runs = self._began or 0, self._began is not None
        while self._runs and reads.left:
            place = self._run
            head = None if place == self.size else self._look(place, reads)
            if head is None or head is Head.TRIED:
                self._runs = False
                return None
            self._run += 1
            self.waiting -= 1
            if head is Head.FRESH:
                return place
        return None

    def _look(self, place: int, reads: Reads) -> Head | None:
        """Return what lies at a place, None when no more rows may be read."""
        if place in self._held:
            return Head.TRIED
        if not reads.left:
            return None
        reads.left -= 1
        head = self.look(place)
        if head is Head.TRIED:
            self._held.add(place)
        return head
