"""Servers that go away and come back, and scripts that are forgotten (cases 29, 33, 35)."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from echomq import EchoMQ
from echomq.worker import Backoff, Run, Worker
from tests.faults.worker.scene import PATIENCE_S, counted, quick, serving
from tests.servers import RealServer, valkey_server


@pytest.mark.parametrize("how", ["restart", "crash"])
async def test_a_server_that_restarts_during_the_work_costs_no_job_and_workers_resume(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    total, held = 3_000, 5
    done: dict[str, int] = {}
    all_restarts_over = asyncio.Event()

    async def handler(run: Run) -> None:
        if run.payload == b"held":  # so that the work cannot be over before the last restart
            await all_restarts_over.wait()
        await asyncio.sleep(0.001)
        done[str(run.job)] = done.get(str(run.job), 0) + 1

    options = quick(lease_ms=2_000, concurrency=20, max_attempts=1_000)
    with valkey_server("--appendfsync", "always", persistent=True) as server, caplog.at_level(logging.CRITICAL):
        async with EchoMQ(server.url) as app:
            jobs = app.jobs("q")
            ids = {str(answer.job) for answer in await jobs.enqueue_many([b"held"] * held + [b""] * (total - held))}
            first, second = Worker(app, "q", handler, options=options), Worker(app, "q", handler, options=options)
            async with serving(first), serving(second):
                for part in (1, 2):
                    async with asyncio.timeout(PATIENCE_S):
                        while len(done) < part * total // 4:  # noqa: ASYNC110 - the parts stay simple
                            await asyncio.sleep(0.001)
                    if how == "crash":
                        server.kill()
                        await asyncio.to_thread(server.start)
                    else:
                        await asyncio.to_thread(server.restart)
                all_restarts_over.set()
                await counted(jobs, completed=total, pending=0, active=0, schedule=0, dead=0)
    assert set(done) == ids


async def test_delayed_jobs_run_when_due_although_the_server_restarted() -> None:
    late_ms: list[float] = []

    async def handler(run: Run) -> None:
        late_ms.append(time.time() * 1000 - float(run.payload or b"0"))

    options = quick()
    with valkey_server("--appendfsync", "always", persistent=True) as server:
        async with EchoMQ(server.url) as app:
            jobs = app.jobs("q")
            async with serving(Worker(app, "q", handler, options=options)):
                for n in range(3):
                    due_ms = int(time.time() * 1000) + 2_000 + 100 * n
                    await jobs.enqueue_at(b"%d" % due_ms, at_ms=due_ms)
                await asyncio.to_thread(server.restart)
                await counted(jobs, completed=3)
    assert len(late_ms) == 3
    assert min(late_ms) >= -1


async def test_a_storm_of_script_flushes_stops_no_job(server: RealServer, app: EchoMQ, queue: str) -> None:
    fails_first: set[str] = set()

    async def handler(run: Run) -> bytes:
        if run.payload == b"fails" and str(run.job) not in fails_first:
            fails_first.add(str(run.job))
            raise ValueError("first time")
        await run.progress(b"half")
        return b"x"

    jobs = app.jobs(queue)
    await jobs.enqueue_many([b"fails" if n % 10 == 0 else b"" for n in range(3_000)])
    for _ in range(20):
        await jobs.enqueue_in(b"", delay_ms=200)
    options = quick(concurrency=50, retry=Backoff.fixed(10))
    worker = Worker(app, queue, handler, options=options)
    with _flushing(server):
        async with serving(worker):
            await counted(jobs, completed=3_020, pending=0, active=0, schedule=0, dead=0)
    assert (worker.counts.retried, worker.counts.completed) == (300, 3_020)
    assert (worker.counts.stale, worker.counts.lost, worker.counts.recovered) == (0, 0, 0)


@contextlib.contextmanager
def _flushing(server: RealServer) -> Iterator[None]:
    done = threading.Event()

    def flush() -> None:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(server.unix_path)
            while not done.wait(0.005):
                peer.sendall(b"SCRIPT FLUSH SYNC\r\n")
                peer.recv(64)

    thread = threading.Thread(target=flush)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
