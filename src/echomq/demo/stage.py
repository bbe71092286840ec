"""The workers as processes, and the kill.

A worker is killed while it provably holds jobs: it is frozen first (SIGSTOP), so that nothing moves while the demo
looks. A job is in its hands when the worker has noted the start of an attempt, the job still lies in `active`, and its
row still counts that attempt. Only then comes SIGKILL. A worker that holds nothing at that moment is thawed.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from echomq.blocking_jobs import BlockingJobs
from echomq.demo.journal import JournalReader, Started
from echomq.demo.worker import Orders
from echomq.errors import DemoFailed
from echomq.ids import JobId
from echomq.records import BrowsedJob, StoredJob
from echomq.states import JobState, SetName

__all__ = ["WORKER_COMMAND", "Actor", "Kill", "Stage"]

WORKER_COMMAND: Final = (sys.executable, "-m", "echomq.demo.worker")

READY_S: Final = 30.0
STOP_S: Final = 10.0
_PAGES_MAX: Final = 100
_STDERR_SHOWN: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """What was done to whom and when: the killed worker, the jobs that it provably held, and how many had started."""

    number: int
    pid: int
    started: int
    held: tuple[JobId, ...]


class Actor:
    """One worker process: its number, its journal, and the wire to it."""

    def __init__(self, number: int, process: "subprocess.Popen[bytes]", journal: JournalReader, errors: Path) -> None:
        self.number = number
        self.journal = journal
        self.is_killed = False
        self._process = process
        self._errors = errors

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def tell(self, line: bytes) -> None:
        """Write a line to the worker's standard input. One that has ended hears nothing; `check` reports it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def await_ready(self) -> None:
        """Return when the worker can serve. Raises `DemoFailed` when it ends first, or takes too long."""
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], READY_S)
        if not readable or self._process.stdout.readline() != b"ready\n":
            raise self._failed(f"did not become ready within {READY_S:.0f} s" if not readable else "ended at once")

    def check(self) -> None:
        """Raise `DemoFailed` when the worker has ended although nobody told it to."""
        if not self.is_killed and not self.is_alive:
            raise self._failed(f"ended by itself (exit status {self._process.returncode})")

    def let_go(self) -> None:
        """Let the job go on that the worker holds for the kill."""
        self.tell(b"go")

    def freeze(self) -> bool:
        """Stop the process where it is; return False when it has ended instead."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
        except ChildProcessError:
            return False
        return os.WIFSTOPPED(status)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process with SIGKILL, which it cannot notice, and take its remains away."""
        self.is_killed = True
        self._process.kill()
        self._process.wait()
        self._close()

    def ask_to_stop(self) -> None:
        """Tell the worker to finish the jobs in hand and end."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def await_end(self, deadline: float) -> None:
        """Wait for the end of the process until an instant of `time.monotonic`, then kill it."""
        try:
            self._process.wait(timeout=max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _failed(self, what: str) -> DemoFailed:
        try:
            said = self._errors.read_text(errors="backslashreplace")[-_STDERR_SHOWN:].strip()
        except OSError:
            said = ""
        return DemoFailed(f"worker {self.number} of the demo {what}" + (f"; it said:\n{said}" if said else ""))


class Stage:
    """All workers of one run. Close it whatever happens: then no process is left."""

    def __init__(self, orders: Orders, directory: Path, *, command: Sequence[str] = WORKER_COMMAND) -> None:
        self._orders = orders
        self._directory = directory
        self._command = tuple(command)
        self.actors: list[Actor] = []

    def start(self, *, hold_at: int | None = None) -> Actor:
        """Start one more worker; it holds the job that it starts as its `hold_at`-th, for the kill."""
        number = len(self.actors) + 1
        journal = self._directory / f"worker-{number}.journal"
        errors = self._directory / f"worker-{number}.stderr"
        orders = msgspec.structs.replace(self._orders, journal=str(journal), hold_at=hold_at)
        with errors.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603 - the command is ours
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        actor = Actor(number, process, JournalReader(journal), errors)
        self.actors.append(actor)
        # Through the input and not as an argument: the address may hold a password, and everybody can list arguments.
        actor.tell(msgspec.json.encode(orders))
        return actor

    def check(self) -> None:
        """Raise `DemoFailed` when a worker has ended that should not."""
        for actor in self.actors:
            actor.check()

    def started(self) -> list[Started]:
        """Return what all workers noted, each worker's in order."""
        return [record for actor in self.actors for record in actor.journal.read()]

    def count_started(self) -> int:
        """Return how many attempts all workers have started."""
        return sum(actor.journal.count() for actor in self.actors)

    def kill_if_holding(self, actor: Actor, jobs: BlockingJobs) -> Kill | None:
        """Freeze a worker, and kill it when it provably holds a job; else let it go on and return None."""
        if not actor.freeze():
            return None
        try:
            held = _held_by(actor, jobs)
            if held:
                actor.kill()
                return Kill(number=actor.number, pid=actor.pid, started=self.count_started(), held=held)
        finally:
            if not actor.is_killed:
                actor.thaw()
        return None

    def close(self) -> None:
        """Tell all workers to stop, wait for their ends, and kill those that do not end in time. Safe to repeat."""
        for actor in self.actors:
            actor.ask_to_stop()
        deadline = time.monotonic() + STOP_S
        for actor in self.actors:
            actor.await_end(deadline)


def _held_by(actor: Actor, jobs: BlockingJobs) -> tuple[JobId, ...]:
    """Return the jobs that a frozen worker holds, oldest first."""
    # What the worker wrote before it froze may still lie in the server's socket. The server reads it in the same turn
    # as this question at the latest, so the look at `active` after it sees all the worker did.
    jobs.counts([])
    noted = {record.job: record.token for record in actor.journal.read()}
    held: list[JobId] = []
    for browsed in _active(jobs):
        if (token := noted.get(browsed.job)) is None:
            continue
        row = jobs.get_job(browsed.job)
        if isinstance(row, StoredJob) and row.state is JobState.ACTIVE and row.attempts == token:
            held.append(browsed.job)
    return tuple(sorted(held))


def _active(jobs: BlockingJobs) -> list[BrowsedJob]:
    found: list[BrowsedJob] = []
    after: BrowsedJob | None = None
    for _ in range(_PAGES_MAX):
        page = jobs.browse(SetName.ACTIVE, limit=1000, after=after)
        found += page.jobs
        after = page.after
        if after is None:
            break
    return found
