"""The play as a whole: find the files, read them, have the workers read them, kill one in the middle, compare.

The queue belongs to this run alone and is deleted at the end, whatever happens: also when the demo is interrupted or
fails. No process is left either.
"""

import os
import secrets
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from echomq.app import EchoMQ
from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.demo.fairness import fairness_of, lane_figures
from echomq.demo.feed import Feed
from echomq.demo.files import LIMIT, Found, find_files, shown
from echomq.demo.handler import FileFacts, facts_of
from echomq.demo.meter import Meter
from echomq.demo.report import (
    PROBLEMS_KEPT,
    Ending,
    Figures,
    Problem,
    compare,
    jobs_per_second,
)
from echomq.demo.scratch import remove_leftovers, scratch
from echomq.demo.show import Moment, Show
from echomq.demo.stage import WORKER_COMMAND, Actor, Kill, Stage
from echomq.demo.waits import percentile, waits_ms
from echomq.demo.words import about, counted
from echomq.demo.worker import Orders
from echomq.errors import DemoFailed
from echomq.ids import JobId
from echomq.records import ActiveJobs, Counts, Finished, MoreToObliterate, NotPaused, Obliterated
from echomq.states import CountName

__all__ = ["DemoOptions", "play"]

LEASE_MS: Final = 2_000
BEAT_MS: Final = 50
RESULT_TTL_MS: Final = 600_000
RESULTS_AT_ONCE: Final = 500
STANDSTILL_MS: Final = 30_000
"""How long nothing may be done before the demo stops waiting and calls what is missing lost."""

_OBLITERATE_STEPS_MAX: Final = 1_000_000
_OPEN: Final = (CountName.PENDING, CountName.ACTIVE, CountName.SCHEDULE)
_ENDED: Final = (CountName.DEAD, CountName.COMPLETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What to play with: a directory (None: Python's own library), the most files, and the worker's program."""

    directory: Path | None = None
    limit: int = LIMIT
    worker_command: Sequence[str] = WORKER_COMMAND


def play(url: str, options: DemoOptions, show: Show) -> Figures:
    """Play the demo on the server at `url` and return its figures. Tells `show` what happens as it happens.

    Raises `BadInput` for a directory without files, `DemoFailed` when a worker cannot run, and what talking to
    the server can raise. In each case, and on `KeyboardInterrupt`, nothing is left behind.
    """
    began = time.monotonic()
    found = find_files(options.directory, limit=options.limit)
    for sentence in about(found):
        show.say(sentence)
    queue = f"demo-{secrets.token_hex(4)}"
    remove_leftovers()
    with EchoMQ(url) as app, scratch() as directory:
        jobs = app.blocking_jobs(queue)
        orders = Orders(
            url=url, queue=queue, journal="", lease_ms=LEASE_MS, beat_ms=BEAT_MS, result_ttl_ms=RESULT_TTL_MS
        )
        stage = Stage(orders, directory, command=options.worker_command)
        try:
            figures = _Play(jobs, app.blocking_lanes(queue), stage, found, show, Feed(jobs, found)).run()
        finally:
            with _undisturbed():
                stage.close()
                _clean_up(jobs)
    return replace(figures, total_s=round(time.monotonic() - began, 2))


@dataclass(slots=True)
class _Play:
    """One run, once the workers have a stage."""

    jobs: BlockingJobs
    lanes: BlockingLanes
    stage: Stage
    found: Found
    show: Show
    feed: Feed
    kill: Kill | None = None
    meter: Meter = field(default_factory=Meter)

    def run(self) -> Figures:
        total = len(self.found.files)
        # A fifth: of two workers at least one starts that many, and the run is then at most two fifths through.
        actors = [self.stage.start(hold_at=max(total // 5, 1)) for _ in range(2)]
        own = self._read_all()
        for actor in actors:
            actor.await_ready()
        first, second = actors
        self.show.say(
            f"Two workers are ready, processes {first.pid} and {second.pid}. Now every file becomes a job: read it and"
            " give back its bytes, its lines and its SHA-256. Each folder has a lane, and the largest comes first."
        )
        began = time.monotonic()
        self._run_jobs(actors)
        run_s = time.monotonic() - began
        return self._figures(own, run_s)

    def _read_all(self) -> dict[bytes, FileFacts]:
        began = time.monotonic()
        own = {path: facts_of(path) for path in self.found.files}
        self.show.say(
            f"I have read every file myself, to know what the results must be ({time.monotonic() - began:.1f} s)."
        )
        return own

    def _run_jobs(self, actors: Sequence[Actor]) -> None:
        """Enqueue everything, kill a worker on the way, and return when no job is left or nothing moves any more."""
        while True:
            self.feed.step()
            if self.kill is None:
                self._kill_when_due(actors)
            if self._look() or self.meter.standstill_ms > STANDSTILL_MS:
                return
            self.stage.check()
            if self.feed.is_done:
                # What is waited for happens in other processes and on the server: nothing here can be told of it.
                time.sleep(0.002 if self.kill is None else 0.05)

    def _kill_when_due(self, actors: Sequence[Actor]) -> None:
        due = max(len(self.found.files) // 5, 1)
        victim = max(actors, key=lambda actor: actor.journal.count())
        if victim.journal.count() < due:
            return
        self.kill = self.stage.kill_if_holding(victim, self.jobs)
        if self.kill is None:
            return
        for actor in actors:
            actor.let_go()
        taker = self.stage.start()
        self.show.say(
            f"{self.kill.started:,} of {len(self.found.files):,} jobs have started. Worker {self.kill.number}, process"
            f" {self.kill.pid}, is killed with SIGKILL while it holds {counted(len(self.kill.held), 'job')}. Worker"
            f" {taker.number}, process {taker.pid}, takes its place."
        )

    def _look(self) -> bool:
        """Show where the jobs are; return whether all have ended. Looks at most twenty times a second."""
        if not self.meter.is_due():
            return False
        counts = self.jobs.counts(_OPEN + _ENDED)
        done = sum(counts[name] for name in _ENDED)
        # Those in lanes are not among the counts.
        waiting = max(len(self.feed.paths) - done - counts["active"], 0)
        is_over = self.feed.is_done and not self._is_any_open(counts)
        self.meter.note(done)
        self.show.update(
            Moment(
                total=len(self.found.files),
                waiting=waiting,
                running=counts["active"],
                done=done,
                per_s=self.meter.per_s,
                doing=self._doing(waiting=waiting, is_over=is_over),
            )
        )
        return is_over

    def _is_any_open(self, counts: Counts) -> bool:
        """Whether a job waits or runs anywhere: if not, what is missing is lost, and nobody has to wait for it."""
        if any(counts[name] for name in _OPEN):
            return True
        if any(lane.depth or lane.in_flight for lane in self.lanes.list_all()):
            return True
        # One that moved from a lane to a set between the two looks.
        counts = self.jobs.counts(_OPEN)
        return any(counts[name] for name in _OPEN)

    def _doing(self, *, waiting: int, is_over: bool) -> str:
        if not self.feed.is_done:
            return "enqueueing"
        if is_over:
            return "all jobs have ended"
        if self.kill is None:
            return "two workers at work"
        if waiting:
            return "a worker was killed, the others go on"
        return f"waiting for the killed worker's leases to end ({LEASE_MS / 1000:.0f} s)"

    def _figures(self, own: dict[bytes, FileFacts], run_s: float) -> Figures:
        self.show.say("The work is over. Now every result is compared with what I read myself.")
        paths = self.feed.paths
        ids = sorted(paths)
        endings: dict[JobId, Ending] = {}
        for at in range(0, len(ids), RESULTS_AT_ONCE):
            part = ids[at : at + RESULTS_AT_ONCE]
            endings.update(zip(part, self.jobs.get_results(part), strict=True))
        problems = compare(paths, endings, {job: own[path] for job, path in paths.items()})
        held = self.kill.held if self.kill is not None else ()
        again = {job for job, ending in endings.items() if isinstance(ending, Finished) and ending.attempts > 1}
        # Without the recovered ones: those waited for a lease to end, and not only in the line.
        started = self.stage.started()
        waits = waits_ms(started, (job for job in ids if job not in again))
        return Figures(
            directory=shown(os.fsencode(self.found.directory)),
            files=len(self.found.files),
            size_bytes=self.found.size_bytes,
            unreadable=len(self.found.unreadable),
            results=sum(isinstance(ending, Finished) for ending in endings.values()),
            lost=_count(problems, "lost"),
            failed=_count(problems, "failed"),
            different=_count(problems, "different"),
            changed=_count(problems, "changed"),
            killed=self.kill is not None,
            killed_at=self.kill.started if self.kill is not None else 0,
            held=len(held),
            held_back=len(again.intersection(held)),
            recovered=len(again),
            jobs_per_s=jobs_per_second(endings.values()),
            start_p50_ms=percentile(waits, 50),
            start_p99_ms=percentile(waits, 99),
            lanes=lane_figures(started, self.feed.folders, again),
            fairness=fairness_of(started, self.feed.folders, self.feed.fed_ms),
            run_s=round(run_s, 2),
            total_s=0.0,
            queue=self.jobs.queue,
            problems=tuple(problems[:PROBLEMS_KEPT]),
        )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put off Ctrl-C and SIGTERM: a second one must not leave the queue and the workers behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _clean_up(jobs: BlockingJobs) -> None:
    """Delete the queue with everything in it. Raises `DemoFailed` when that cannot be."""
    jobs.pause()
    cursor: str | None = None
    for _ in range(_OBLITERATE_STEPS_MAX):
        match jobs.obliterate(force=True, cursor=cursor):
            case MoreToObliterate(cursor=next_cursor):
                cursor = next_cursor
            case Obliterated():
                return
            case NotPaused() | ActiveJobs() as answer:
                raise DemoFailed(f"the demo's queue {jobs.queue} could not be deleted ({type(answer).__name__})")
    raise DemoFailed(f"the demo's queue {jobs.queue} does not end: delete it with `echomq queue obliterate`")


def _count(problems: Sequence[Problem], kind: str) -> int:
    return sum(problem.kind == kind for problem in problems)
