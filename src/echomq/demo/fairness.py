"""What each lane got: how long its jobs waited, and how equal the lanes' shares were while they had work.

Jain's index of n shares is (sum of x)² / (n · sum of x²): 1 when all are equal, 1/n when one lane has everything. The
starts of a run are cut into windows, and a window's index is about the lanes that had jobs waiting from its beginning
to its end; the others could not take what they were offered.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final

from echomq.demo.files import shown
from echomq.demo.journal import Started
from echomq.demo.lanes import lane_of
from echomq.demo.waits import percentile, waits_ms
from echomq.ids import JobId

__all__ = ["LANES_KEPT", "WINDOW_MIN", "Fairness", "LaneFigures", "fairness_of", "jain", "lane_figures"]

WINDOW_MIN: Final = 100
"""How many starts a window has at least."""

LANES_KEPT: Final = 1_000
"""How many lanes the figures tell of; all are served."""

_TURNS: Final = 5
"""How many turns each lane has in a window: with fewer, that a start cannot be divided would look like unfairness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneFigures:
    """What one lane got. `lane` and `folder` are None for the files in no folder; the waits as in `Figures`, in ms."""

    lane: str | None
    folder: str | None
    files: int
    start_p50_ms: int | None
    start_p99_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """Jain's index over all windows: the median and the worst, how many windows, and how many starts each has."""

    median: float
    worst: float
    windows: int
    window_starts: int


def lane_figures(
    started: Iterable[Started], folders: Mapping[JobId, bytes | None], again: AbstractSet[JobId]
) -> tuple[LaneFigures, ...]:
    """Return what each lane got, without the jobs in `again`, in the order of `folders`."""
    jobs: dict[bytes | None, list[JobId]] = {}
    for job, folder in folders.items():
        jobs.setdefault(folder, []).append(job)
    starts: dict[bytes | None, list[Started]] = {}
    for record in started:
        starts.setdefault(folders[record.job], []).append(record)
    return tuple(_figures(folder, jobs[folder], starts.get(folder, []), again) for folder in islice(jobs, LANES_KEPT))


def _figures(
    folder: bytes | None, jobs: Sequence[JobId], starts: Sequence[Started], again: AbstractSet[JobId]
) -> LaneFigures:
    waits = waits_ms(starts, (job for job in jobs if job not in again))
    return LaneFigures(
        lane=lane_of(folder),
        folder=None if folder is None else shown(folder),
        files=len(jobs),
        start_p50_ms=percentile(waits, 50),
        start_p99_ms=percentile(waits, 99),
    )


def fairness_of(
    started: Iterable[Started], folders: Mapping[JobId, bytes | None], fed_ms: Mapping[bytes | None, int]
) -> Fairness | None:
    """Return how equal the shares were, or None when there was no window in which two lanes had work all the time.

    `fed_ms` is when the last job of each folder was in the queue. Only first attempts count: what a killed worker held
    starts again when its lease has ended, and not when its lane has a turn.
    """
    starts = sorted(((record.at_ms, folders[record.job]) for record in started if record.token == 1), key=_instant)
    width = max(WINDOW_MIN, _TURNS * len(fed_ms))
    found = [
        jain(shares)
        for at in range(0, len(starts) - width + 1, width)
        if len(shares := _shares(starts, at, at + width, fed_ms)) > 1
    ]
    if not found:
        return None
    return Fairness(
        median=round(statistics.median(found), 3), worst=round(min(found), 3), windows=len(found), window_starts=width
    )


def jain(shares: Sequence[int]) -> float:
    """Return Jain's index of at least one share; shares of nothing are equal."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def _instant(start: tuple[int, bytes | None]) -> int:
    return start[0]


def _shares(
    starts: Sequence[tuple[int, bytes | None]], begin: int, end: int, fed_ms: Mapping[bytes | None, int]
) -> list[int]:
    """Return what each lane got of a window, of the lanes whose jobs waited before it began and after it ended."""
    later = {folder for _, folder in starts[end:]}
    had_work = {folder for folder in later if fed_ms[folder] <= starts[begin][0]}
    got = Counter(folder for _, folder in starts[begin:end])
    return [got[folder] for folder in had_work]
