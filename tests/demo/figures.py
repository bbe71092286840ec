"""The figures of a demo that went well, for what is told of them."""

from echomq.demo.fairness import Fairness, LaneFigures
from echomq.demo.report import Figures

__all__ = ["figures"]


def figures(*lanes: LaneFigures, fairness: Fairness | None = None) -> Figures:
    return Figures(
        directory="/lib",
        files=2,
        size_bytes=10,
        unreadable=0,
        results=2,
        lost=0,
        failed=0,
        different=0,
        changed=0,
        killed=True,
        killed_at=1,
        held=1,
        held_back=1,
        recovered=1,
        jobs_per_s=1234.5,
        start_p50_ms=3,
        start_p99_ms=9,
        run_s=2.1,
        total_s=2.5,
        queue="demo-1",
        lanes=lanes,
        fairness=fairness,
    )
