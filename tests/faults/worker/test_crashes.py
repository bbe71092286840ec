"""Workers that die: kill -9 in the middle of a job (cases 1, 5, 7, 13, 19 and weakness W20)."""

import asyncio
import time

import pytest

from echomq import EchoMQ
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import Failed, Finished, StoredJob, Token
from echomq.states import JobState
from echomq.worker import Run, Worker
from tests.faults.worker.scene import PATIENCE_S, counted, quick, serving, worker_process
from tests.servers import RealServer

LEASE_MS = 4_000  # only a machine that stands still for longer than 2 s costs a lease that is renewed
OPTIONS = {"lease_ms": LEASE_MS, "reap_every_ms": 100, "promote_every_ms": 50, "beat_ms": 100}


async def test_the_job_of_a_killed_worker_runs_again_after_its_lease_and_the_attempt_counts(
    server: RealServer, app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"first-waits")).job
    async with worker_process(server.url, queue, **OPTIONS, result_ttl_ms=3_600_000) as doomed:
        await doomed.said(f"start {job} 1")
        async with worker_process(server.url, queue, **OPTIONS, result_ttl_ms=3_600_000) as other:
            await asyncio.sleep(1.5 * LEASE_MS / 1000)  # longer than the lease: only renewal keeps the job where it is
            assert other.count("start") == 0
            (leased,) = (await jobs.browse("active")).jobs
            doomed.kill()
            await other.said(f"start {job} 2")
            assert leased.at_ms is not None
            assert await _server_ms(jobs) >= leased.at_ms  # the end of the lease, which no later renewal brings nearer
            await other.said(f"end {job} 2")
            await counted(jobs, completed=1)
            assert other.count("start") == 1
    result = await jobs.get_result(job)
    assert isinstance(result, Finished)
    assert result.attempts == 2
    assert result.result == b"done by %d" % other.pid


async def test_a_job_that_kills_its_worker_is_dead_after_its_attempts_and_harms_nobody_else(
    server: RealServer, app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    poison = (await jobs.enqueue(b"die")).job
    for attempt in (1, 2):
        async with worker_process(server.url, queue, **OPTIONS, max_attempts=2) as victim:
            await victim.said(f"start {poison} {attempt}")
            assert await victim.exit_code() == -9
    async with worker_process(server.url, queue, **OPTIONS, max_attempts=2) as survivor:
        healthy = (await jobs.enqueue(b"ok")).job
        await survivor.said(f"end {healthy} 1")
        await counted(jobs, dead=1)
        assert survivor.count(f"start {poison}") == 0
    assert await jobs.get_state(poison) is JobState.DEAD
    assert await jobs.get_result(poison) == Failed(poison, "lease lapsed on attempt 2, and no attempt is left", 2)


async def test_a_delayed_job_is_run_by_one_of_three_workers(app: EchoMQ, queue: str) -> None:
    runs: list[tuple[JobId, int, float]] = []
    done = asyncio.Event()

    async def handler(run: Run) -> None:
        runs.append((run.job, run.attempt, time.monotonic()))
        await asyncio.sleep(1.5 * LEASE_MS / 1000)  # longer than the lease, so that a second run would show
        done.set()

    options = quick(**OPTIONS)
    workers = [Worker(app, queue, handler, options=options) for _ in range(3)]
    due_at_s = time.monotonic() + 2 * LEASE_MS / 1000
    job = (await app.jobs(queue).enqueue_in(b"", delay_ms=2 * LEASE_MS)).job
    async with serving(workers[0]), serving(workers[1]), serving(workers[2]), asyncio.timeout(PATIENCE_S):
        await done.wait()
    ((ran, attempt, started_s),) = runs
    assert (ran, attempt) == (job, 1)
    assert started_s >= due_at_s - 0.1
    assert sum(worker.counts.completed for worker in workers) == 1
    assert sum(worker.counts.recovered for worker in workers) == 0


@pytest.mark.parametrize("kill_at", [1, 17])
async def test_every_job_of_a_killed_worker_ends(server: RealServer, app: EchoMQ, queue: str, kill_at: int) -> None:
    jobs = app.jobs(queue)
    # Two of them hold two slots of the doomed worker, so that it cannot have ended them all before it is killed.
    ids = [answer.job for answer in await jobs.enqueue_many([b"first-waits"] * 2 + [b"sleep 0.05"] * 58)]
    async with worker_process(server.url, queue, **OPTIONS, concurrency=5) as doomed:
        await doomed.said("end", times=kill_at)
        doomed.kill()
        await doomed.exit_code()
    async with worker_process(server.url, queue, **OPTIONS, concurrency=5) as other:
        await counted(jobs, completed=len(ids), pending=0, active=0, schedule=0, dead=0)
        assert other.count("start") >= 2


async def test_an_attempt_of_a_killed_worker_stands_in_the_row(server: RealServer, app: EchoMQ, queue: str) -> None:
    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"first-waits")).job
    async with worker_process(server.url, queue, **OPTIONS) as doomed:
        await doomed.said(f"start {job} 1")
        doomed.kill()
    stored = await jobs.get_job(job)
    assert isinstance(stored, StoredJob)
    assert (stored.state, stored.attempts, stored.unspent) == (JobState.ACTIVE, Token(1), 0)


async def _server_ms(jobs: Jobs) -> int:
    client = await jobs._runner.client()  # type: ignore[attr-defined]  # the application's link
    seconds, micros = await client.command("TIME")
    return int(seconds) * 1000 + int(micros) // 1000
