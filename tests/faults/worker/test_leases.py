"""Leases of running jobs: renewed, blocked, refused, lapsed (cases 15, 21, 23, 25)."""

import asyncio
import logging
import time

import pytest

from echomq import EchoMQ
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import Claimed, Finished
from echomq.transitions.claim import claim
from echomq.worker import Run, Worker, WorkerOptions
from tests.faults.worker.scene import FAST, PATIENCE_S, counted, eventually, quick, serving, worker_process
from tests.servers import RealServer, valkey_server

LEASE_MS = 4_000  # renewed after a third, so that only a machine that stands still for longer than 2 s costs a lease


async def test_a_job_of_four_lease_lengths_runs_once(app: EchoMQ, queue: str) -> None:
    runs: list[int] = []
    done = asyncio.Event()

    async def handler(run: Run) -> bytes:
        runs.append(run.attempt)
        await asyncio.sleep(4 * LEASE_MS / 1000)
        done.set()
        return b"once"

    options = quick(lease_ms=LEASE_MS, result_ttl_ms=60_000)
    job = (await app.jobs(queue).enqueue(b"")).job
    first, second = (Worker(app, queue, handler, options=options) for _ in range(2))
    async with serving(first), serving(second), asyncio.timeout(PATIENCE_S):
        await done.wait()
    assert runs == [1]
    assert first.counts.recovered + second.counts.recovered == 0
    result = await app.jobs(queue).get_result(job)
    assert isinstance(result, Finished)
    assert (result.result, result.attempts) == (b"once", 1)


async def test_a_handler_that_blocks_the_loop_for_two_leases_runs_once_and_is_named(
    server: RealServer, app: EchoMQ, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[int] = []
    began, other_is_there, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(run: Run) -> None:
        runs.append(run.attempt)
        began.set()
        await other_is_there.wait()
        time.sleep(2 * LEASE_MS / 1000)  # noqa: ASYNC251 - the misdeed under test
        done.set()

    jobs = app.jobs(queue)
    options = quick(lease_ms=LEASE_MS)
    worker = Worker(app, queue, handler, options=options)
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        job = (await jobs.enqueue(b"sleep 0")).job
        async with serving(worker), asyncio.timeout(PATIENCE_S):
            await began.wait()
            async with worker_process(server.url, queue, lease_ms=LEASE_MS, **FAST) as other:
                other_is_there.set()  # it takes back whatever lapses while this loop is blocked
                await done.wait()
                await counted(jobs, completed=1)
                assert other.count("start") == 0
    assert runs == [1]
    assert worker.counts.lost == 0
    warnings = [record.getMessage() for record in caplog.records if "has not turned for" in record.getMessage()]
    assert any(f"{job} attempt 1" in warning and __file__ in warning for warning in warnings), warnings


async def test_a_coroutine_whose_renewal_is_refused_is_told_cancelled_and_its_result_refused(
    app: EchoMQ, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    began, told = asyncio.Event(), asyncio.Event()
    seen: list[str | None] = []

    async def handler(run: Run) -> bytes:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(run.lost_because)
            told.set()
        return b"late"

    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"")).job
    worker = Worker(app, queue, handler, options=_no_upkeep())
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        async with serving(worker) as task, asyncio.timeout(PATIENCE_S):
            await began.wait()
            thief = await _steal(jobs)
            await told.wait()
            worker.stop()
            await task
    assert seen[0] is not None
    assert "refused" in seen[0]
    assert (worker.counts.lost, worker.counts.completed) == (1, 0)
    assert f"{job} attempt 1 is lost" in caplog.text
    await jobs.complete(job, thief.token, result=b"the thief's", result_ttl_ms=60_000)
    assert await _result(jobs, job) == b"the thief's"


async def test_a_function_whose_renewal_is_refused_sees_it_and_its_result_is_refused(app: EchoMQ, queue: str) -> None:
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    def handler(run: Run) -> bytes:
        loop.call_soon_threadsafe(began.set)
        deadline_s = time.monotonic() + PATIENCE_S
        while not run.lost and time.monotonic() < deadline_s:
            time.sleep(0.01)
        return b"late"

    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"")).job
    worker = Worker(app, queue, handler, options=_no_upkeep())
    async with serving(worker), asyncio.timeout(PATIENCE_S):
        await began.wait()
        thief = await _steal(jobs)
        await eventually(lambda: _is_idle(worker))
    assert (worker.counts.lost, worker.counts.completed, worker.counts.stale) == (1, 0, 0)
    await jobs.complete(job, thief.token, result=b"the thief's", result_ttl_ms=60_000)
    assert await _result(jobs, job) == b"the thief's"


async def test_a_refused_report_tells_the_handler_before_any_renewal(app: EchoMQ, queue: str) -> None:
    began, go_on, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
    seen: list[tuple[object, bool]] = []

    async def handler(run: Run) -> bytes:
        began.set()
        await go_on.wait()
        seen.append((type(await run.progress(b"50%")).__name__, run.lost))
        done.set()
        return b"late"

    jobs = app.jobs(queue)
    await jobs.enqueue(b"")
    worker = Worker(app, queue, handler, options=_no_upkeep(lease_ms=60_000))
    async with serving(worker), asyncio.timeout(PATIENCE_S):
        await began.wait()
        await _steal(jobs)
        go_on.set()
        await done.wait()
    assert seen == [("Stale", True)]
    assert (worker.counts.lost, worker.counts.completed) == (1, 0)


async def test_a_server_that_is_silent_for_longer_than_the_lease_costs_the_lease_and_the_job_runs_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempts: list[int] = []
    began, lost, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(run: Run) -> None:
        attempts.append(run.attempt)
        began.set()
        if run.attempt > 1:
            done.set()
            return
        try:
            await asyncio.Event().wait()
        finally:
            lost.set()

    with valkey_server() as silent, caplog.at_level(logging.ERROR, "echomq.worker"):
        async with EchoMQ(silent.url) as app, asyncio.timeout(PATIENCE_S):
            jobs = app.jobs("q")
            worker = Worker(app, "q", handler, options=quick(lease_ms=LEASE_MS, max_attempts=1_000))
            job = (await jobs.enqueue(b"")).job
            async with serving(worker):
                await began.wait()
                silent.freeze()
                try:
                    await lost.wait()  # the handler is told while the server is silent still
                finally:
                    silent.thaw()
                await done.wait()
                await counted(jobs, completed=1, pending=0, active=0, schedule=0, dead=0)
    # Attempts may be missing between: claims whose answers nobody could read, and what a slow machine costs besides.
    assert attempts[0] == 1
    assert attempts[1:] == sorted(set(attempts[1:]))
    assert attempts[1] > 1
    assert any(f"{job} attempt 1 is lost" in record.getMessage() for record in caplog.records)
    assert worker.counts.lost >= 1


def _no_upkeep(lease_ms: int = 9_000) -> WorkerOptions:
    """Options of a worker that leaves the stolen job to the thief."""
    return WorkerOptions(lease_ms=lease_ms, concurrency=1, reap_every_ms=3_600_000, promote_every_ms=3_600_000)


async def _steal(jobs: Jobs) -> Claimed:
    """Let the only lease lapse by hand, as if its holder had slept, and claim the job's next attempt.

    The queue is paused meanwhile, so that no worker claims it before the thief, who does not ask for the pause.
    """
    (leased,) = (await jobs.browse("active")).jobs
    client = await jobs._runner.client()  # type: ignore[attr-defined]  # the application's link
    await jobs.pause()
    recovered: tuple[JobId, ...] = ()
    while not recovered:  # a renewal may come in between
        await client.command("ZADD", jobs.keys.active, "XX", "1", leased.job)
        recovered = (await jobs.reap()).recovered
    claimed = await client.run(claim(jobs.keys, lease_ms=3_600_000))
    assert isinstance(claimed, Claimed)
    await jobs.resume()
    return claimed


async def _is_idle(worker: Worker) -> bool:
    return worker.running == 0


async def _result(jobs: Jobs, job: JobId) -> bytes:
    result = await jobs.get_result(job)
    assert isinstance(result, Finished)
    return result.result
