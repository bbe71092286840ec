"""What the tests of running workers share: a worker in this process, a worker in a process of its own, and waiting."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from echomq.jobs import Jobs
from echomq.worker import StopReport, Worker, WorkerOptions

__all__ = ["FAST", "PATIENCE_S", "WorkerProcess", "counted", "eventually", "quick", "serving", "worker_process"]

PATIENCE_S = 120.0  # only a test that fails waits so long
FAST: Final = {"reap_every_ms": 50, "promote_every_ms": 50, "beat_ms": 50}
_ROOT = Path(__file__).parents[3]


def quick(**options: Any) -> WorkerOptions:
    """Return options of a worker that looks after its queue often."""
    return WorkerOptions(**{**FAST, **options})


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Ask the server until the condition holds: a queue gives no signal that could be waited for."""
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)


async def counted(jobs: Jobs, **expected: int) -> None:
    """Wait until the queue's counts are these."""

    async def is_so() -> bool:
        counts = await jobs.counts(tuple(expected))
        return all(counts[name] == count for name, count in expected.items())

    await eventually(is_so)


@contextlib.asynccontextmanager
async def serving(worker: Worker) -> AsyncIterator["asyncio.Task[StopReport]"]:
    """Run the worker while the block runs, then stop it. A crash of the worker is raised at the end."""
    task = asyncio.ensure_future(worker.run())
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        worker.stop()
        async with asyncio.timeout(PATIENCE_S):
            await task


class WorkerProcess:
    """A running `program.py`. What it writes is read as it comes and kept in `lines`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._reading = asyncio.ensure_future(self._read())
        self._heard = asyncio.Event()
        self.lines: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    async def said(self, beginning: str, *, times: int = 1) -> str:
        """Wait until so many lines began so, and return the last of them."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self._heard.clear()
                if len(found := [line for line in self.lines if line.startswith(beginning)]) >= times:
                    return found[times - 1]
                assert not self._reading.done(), f"it ended without saying {beginning!r}, but {self.lines[-20:]}"
                await self._heard.wait()

    def kill(self) -> None:
        self._process.kill()

    def signal(self, number: signal.Signals, *, times: int = 1) -> None:
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def exit_code(self) -> int:
        """Wait until it has ended and everything it said is read."""
        async with asyncio.timeout(PATIENCE_S):
            await self._reading
            return await self._process.wait()

    async def report(self) -> dict[str, list[str]]:
        """Return its stop report, by name."""
        report: dict[str, list[str]] = json.loads((await self.said("report "))[len("report ") :])
        return report

    def count(self, beginning: str) -> int:
        return sum(line.startswith(beginning) for line in self.lines)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self.lines.append(line.decode().rstrip("\n"))
            self._heard.set()
        self._heard.set()


@contextlib.asynccontextmanager
async def worker_process(url: str, queue: str, **options: int) -> AsyncIterator[WorkerProcess]:
    """Start a worker in a process of its own and wait until it serves. It is killed at the end at the latest."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.faults.worker.program",
        url,
        queue,
        json.dumps(options),
        cwd=_ROOT,
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    started = WorkerProcess(process)
    try:
        await started.said("ready")
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await started.exit_code()
