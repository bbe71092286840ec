"""How long jobs waited from their enqueueing to their first start."""

import math
from collections.abc import Iterable, Sequence

from echomq.demo.journal import Started
from echomq.ids import JobId

__all__ = ["percentile", "waits_ms"]


def waits_ms(started: Iterable[Started], jobs: Iterable[JobId]) -> list[int]:
    """Return, for each job that started, the time from its minting to its first start, in ms, ascending."""
    first: dict[JobId, int] = {}
    for record in started:
        first[record.job] = min(record.at_ms, first.get(record.job, record.at_ms))
    return sorted(max(first[job] - job.minted_at_ms, 0) for job in jobs if job in first)


def percentile(ascending: Sequence[int], percent: float) -> int | None:
    """Return the smallest value that `percent` of all do not exceed, or None when there is none."""
    if not ascending:
        return None
    return ascending[max(math.ceil(len(ascending) * percent / 100), 1) - 1]
