"""The figures of fairness, from the lanes of what was started, in order."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["jain", "longest_wait", "worst_jain"]


def jain(counts: Iterable[int]) -> float:
    """Return Jain's index: 1 when all counts are equal, 1/n when one of n has everything."""
    each = list(counts)
    return sum(each) ** 2 / (len(each) * sum(count * count for count in each))


def worst_jain(starts: Sequence[str | None], lanes: Sequence[str | None], *, window: int) -> float:
    """Return the lowest index over the lanes in all windows of so many starts, one beginning at each start."""
    assert len(starts) >= window, f"{len(starts)} starts are no window of {window}"
    counts = Counter(starts[:window])
    worst = jain([counts[lane] for lane in lanes])
    for gone, come in zip(starts, starts[window:], strict=False):
        counts[gone] -= 1
        counts[come] += 1
        worst = min(worst, jain([counts[lane] for lane in lanes]))
    return worst


def longest_wait(starts: Sequence[str | None], lane: str | None) -> int:
    """Return the most starts of others that lie before, between or after two starts of the lane."""
    places = [-1, *(place for place, started in enumerate(starts) if started == lane), len(starts)]
    return max(after - before - 1 for before, after in itertools.pairwise(places))
