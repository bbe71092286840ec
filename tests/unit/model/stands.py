"""Lanes of plain numbers for the pure walk: so many jobs wait, a weight, a limit."""

from dataclasses import dataclass, field

from echomq.model.manners import Reads
from echomq.model.rota import SPARE, Name, Rota, walk

__all__ = ["PlainLane", "Town"]


@dataclass
class PlainLane:
    """A lane as the walk sees it. `served` counts what it has served; each job costs one read row."""

    waiting: int
    weight: int = 1
    limit: int | None = None
    is_damaged: bool = False
    served: int = 0
    log: list[Name] = field(default_factory=list)
    name: Name = None

    @property
    def servable(self) -> int:
        return self.waiting if self.limit is None else max(min(self.waiting, self.limit - self.served), 0)

    def serve(self, most: int, reads: Reads) -> int:
        count = min(most, self.servable, reads.left)
        reads.left -= count
        self.waiting -= count
        self.served += count
        self.log += [self.name] * count
        return count


class Town:
    """All lanes of a queue, taken from again and again. The flat set is the lane of the name None."""

    def __init__(self, lanes: dict[Name, PlainLane], *, ring: list[bytes] | None = None) -> None:
        self.lanes = lanes
        self.starts: list[Name] = []
        """Whose job started, in order."""
        for name, lane in lanes.items():
            lane.name, lane.log = name, self.starts
        names = [name for name in lanes if name is not None] if ring is None else ring
        self.rota = Rota(tuple(names), len(names) if None in lanes else None)
        self.met: tuple[bytes, ...] = ()

    def take(self, room: int) -> list[Name]:
        """Serve up to `room` jobs and return whose they are."""
        before = len(self.starts)
        reads = Reads(room + SPARE)
        walked = walk(self.rota, lambda name: self.lanes[name], room=room, reads=reads)
        self.rota, self.met = walked.rota, walked.met
        return self.starts[before:]

    def take_all(self, size: int, starts: int) -> list[Name]:
        """Take in batches of `size` until so many jobs have started, and return whose they are."""
        while len(self.starts) < starts and self.take(min(size, starts - len(self.starts))):
            pass
        return self.starts
