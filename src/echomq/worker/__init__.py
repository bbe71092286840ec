"""The worker: claims jobs, runs them, keeps their leases and reports how they ended. See `docs/operating.md`."""

from echomq.worker.context import Run, current_job
from echomq.worker.counts import WorkerCounts
from echomq.worker.options import WorkerOptions
from echomq.worker.report import StopReport
from echomq.worker.retry import Backoff
from echomq.worker.run import Handler
from echomq.worker.signals import run_until_signal
from echomq.worker.worker import Worker

__all__ = [
    "Backoff",
    "Handler",
    "Run",
    "StopReport",
    "Worker",
    "WorkerCounts",
    "WorkerOptions",
    "current_job",
    "run_until_signal",
]
