"""What became of the jobs that were running when a worker was told to stop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from echomq.ids import JobId
from echomq.records import Broken, Completed, Dead, Gone, Released, Scheduled, Stale
from echomq.worker.ledger import Answer, Ending
from echomq.worker.log import LOG

__all__ = ["Fates", "StopReport"]

Fate = Literal["finished", "failed", "handed_back", "abandoned", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """The jobs that were held when the stop began, each in exactly one of the first five.

    `finished` were completed. `failed` ended with an error, and run again later or are dead. `handed_back` are ready
    for other workers, the attempt not spent. `abandoned` could not be told to the server in time: they run again when
    their lease lapses, and the attempt counts. `lost` were not ours any more. `still_running` are those, handed back
    or abandoned, whose handler did not end when it was asked to: plain functions cannot be ended by force, and the
    process cannot end before they do.
    """

    finished: tuple[JobId, ...] = ()
    failed: tuple[JobId, ...] = ()
    handed_back: tuple[JobId, ...] = ()
    abandoned: tuple[JobId, ...] = ()
    lost: tuple[JobId, ...] = ()
    still_running: tuple[JobId, ...] = ()


class Fates:
    """Collects the report: what happens to jobs from `begin` on."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._jobs: dict[Fate, list[JobId]] | None = None

    def begin(self) -> None:
        """Note from here on. May be repeated."""
        if self._jobs is None:
            self._jobs = {}

    def note(self, fate: Fate, job: JobId) -> None:
        """Note what became of a job."""
        if self._jobs is not None:
            self._jobs.setdefault(fate, []).append(job)

    def settled(self, ending: Ending, answer: Answer | None) -> None:
        """Note what the server answered to an ending; None: it was given up."""
        if self._jobs is None:
            return
        match answer:
            case Completed():
                self.note("finished", ending.hold.job)
            case Scheduled() | Dead() | Broken():
                self.note("failed", ending.hold.job)
            case Released():
                self.note("handed_back", ending.hold.job)
            case Stale() | Gone():
                self.note("finished" if ending.is_repeated else "lost", ending.hold.job)
            case None:
                self.note("abandoned", ending.hold.job)

    def report(self, still_running: Sequence[JobId]) -> StopReport:
        """Return the report, and log it."""
        noted = {fate: tuple(jobs) for fate, jobs in (self._jobs or {}).items()}
        report = StopReport(**noted, still_running=tuple(still_running))
        self._log(report)
        return report

    def _log(self, report: StopReport) -> None:
        LOG.info(
            "queue %s: the worker has stopped; of the jobs held: %d finished, %d failed, %d lost, handed back: %s,"
            " abandoned: %s",
            self._queue,
            len(report.finished),
            len(report.failed),
            len(report.lost),
            ", ".join(map(str, report.handed_back)) or "none",
            ", ".join(map(str, report.abandoned)) or "none",
        )
        if report.abandoned:
            LOG.error(
                "queue %s: these could not be told to the server and run again when their lease lapses: %s",
                self._queue,
                ", ".join(map(str, report.abandoned)),
            )
        if report.still_running:
            LOG.error(
                "queue %s: the handlers of these did not end and run on: %s",
                self._queue,
                ", ".join(map(str, report.still_running)),
            )
