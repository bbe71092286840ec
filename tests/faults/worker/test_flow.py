"""Ordinary work under unfriendly conditions: busy queues, pauses, poison, reports (weaknesses W24, W25, W29)."""

import asyncio
import threading
from typing import Any

import pytest

from echomq import EchoMQ
from echomq.records import Failed, Finished, Logs, StoredJob
from echomq.worker import Backoff, Run, Worker
from tests.faults.worker.scene import PATIENCE_S, counted, eventually, quick, serving


async def test_w25_a_queue_that_is_never_empty_starves_neither_lapsed_nor_due_jobs(app: EchoMQ, queue: str) -> None:
    jobs = app.jobs(queue)
    special: dict[bytes, int] = {}
    served = asyncio.Event()

    async def handler(run: Run) -> None:
        if run.payload in {b"lapsed", b"due"}:
            special[run.payload] = run.attempt
            if len(special) == 2:
                served.set()
        else:
            await jobs.enqueue(b"")  # there is always one more

    await jobs.enqueue(b"lapsed")
    await jobs.claim(lease_ms=100)  # by somebody who never comes back
    await jobs.enqueue_in(b"due", delay_ms=100)
    await jobs.enqueue_many([b""] * 200)
    options = quick(concurrency=20)
    worker = Worker(app, queue, handler, options=options)
    async with serving(worker), asyncio.timeout(PATIENCE_S):
        await served.wait()
        assert (await jobs.counts())["pending"] > 0
    assert special == {b"lapsed": 2, b"due": 1}
    assert (worker.counts.recovered, worker.counts.promoted) == (1, 1)


async def test_w24_workers_alone_take_back_lapsed_jobs_and_make_due_ones_ready(app: EchoMQ, queue: str) -> None:
    """Nothing else runs in a flat-only deployment: no lanes, no pump, no sweeper."""
    jobs = app.jobs(queue)
    ran: list[tuple[bytes | None, int]] = []
    both = asyncio.Event()

    async def handler(run: Run) -> None:
        ran.append((run.payload, run.attempt))
        if len(ran) == 2:
            both.set()

    await jobs.enqueue(b"lapsed")
    await jobs.claim(lease_ms=1)  # by somebody who never comes back
    await jobs.enqueue_in(b"due", delay_ms=1)
    worker = Worker(app, queue, handler, options=quick())
    async with serving(worker), asyncio.timeout(PATIENCE_S):
        await both.wait()
    assert sorted(ran) == [(b"due", 1), (b"lapsed", 2)]
    await counted(jobs, pending=0, active=0, schedule=0, dead=0, completed=2)


async def test_a_paused_queue_is_left_alone_until_it_is_resumed(app: EchoMQ, queue: str) -> None:
    jobs = app.jobs(queue)
    await jobs.pause()
    job = (await jobs.enqueue(b"")).job
    ran: list[object] = []

    async def handler(run: Run) -> None:
        ran.append(run.job)

    worker = Worker(app, queue, handler, options=quick())
    async with serving(worker):
        due = (await jobs.enqueue_in(b"", delay_ms=1)).job
        await counted(jobs, pending=2)  # upkeep goes on
        await asyncio.sleep(0.1)  # several beats: nothing may happen, and nothing tells that it did not
        assert not ran
        await jobs.resume()
        await counted(jobs, completed=2)
    assert set(ran) == {job, due}


POISON: dict[bytes, Any] = {b"text": "text", b"number": 5, b"dict": {"a": object()}, b"bytearray": bytearray(b"x")}


@pytest.mark.parametrize("kind", ["loop", "thread"])
async def test_no_answer_of_a_handler_hurts_the_worker(app: EchoMQ, queue: str, kind: str) -> None:
    def act(run: Run) -> Any:
        if run.payload == b"exit":
            raise SystemExit(1)
        if run.payload == b"mute":
            raise ValueError("\udcff\udcfe")
        if run.payload == b"large":
            return b"x" * (2 * 1024 * 1024)
        return POISON.get(run.payload or b"", b"fine")

    async def act_in_loop(run: Run) -> Any:
        return act(run)

    jobs = app.jobs(queue)
    options = quick(max_attempts=1, result_ttl_ms=60_000)
    worker = Worker(app, queue, act_in_loop if kind == "loop" else act, options=options)
    poison = {name: (await jobs.enqueue(name)).job for name in (*POISON, b"exit", b"mute", b"large")}
    healthy = [answer.job for answer in await jobs.enqueue_many([b""] * 20)]
    async with serving(worker):
        await counted(jobs, completed=20, dead=len(poison), pending=0, active=0)
    for name, words in {
        b"text": "returned a str",
        b"number": "returned a int",
        b"exit": "SystemExit: 1",
        b"mute": "ValueError: ??",
        b"large": "the result has 2097152 bytes",
    }.items():
        failure = await jobs.get_result(poison[name])
        assert isinstance(failure, Failed)
        assert words in failure.error
    result = await jobs.get_result(healthy[0])
    assert isinstance(result, Finished)
    assert result.result == b"fine"


async def test_a_failed_job_runs_again_after_its_wait_and_is_dead_after_its_attempts(app: EchoMQ, queue: str) -> None:
    jobs = app.jobs(queue)
    attempts: list[int] = []

    async def handler(run: Run) -> None:
        attempts.append(run.attempt)
        raise ValueError(f"attempt {run.attempt}")

    options = quick(max_attempts=3, retry=Backoff.fixed(10))
    worker = Worker(app, queue, handler, options=options)
    job = (await jobs.enqueue(b"")).job
    async with serving(worker):
        await counted(jobs, dead=1)
    assert attempts == [1, 2, 3]
    assert (worker.counts.retried, worker.counts.dead) == (2, 1)
    failure = await jobs.get_result(job)
    assert isinstance(failure, Failed)
    assert failure.error.startswith("ValueError: attempt 3\n")


@pytest.mark.parametrize("kind", ["loop", "thread"])
async def test_progress_and_log_lines_of_a_run_stand_in_its_job(app: EchoMQ, queue: str, kind: str) -> None:
    jobs = app.jobs(queue)
    said, go_on = threading.Event(), threading.Event()

    async def in_loop(run: Run) -> None:
        await run.progress(b"50%")
        await run.log(b"half")
        said.set()
        await asyncio.to_thread(go_on.wait, PATIENCE_S)

    def in_thread(run: Run) -> None:
        run.progress_blocking(b"50%")
        run.log_blocking(b"half")
        said.set()
        go_on.wait(PATIENCE_S)

    job = (await jobs.enqueue(b"")).job
    try:
        async with serving(Worker(app, queue, in_loop if kind == "loop" else in_thread)):
            await asyncio.to_thread(said.wait, PATIENCE_S)
            stored = await jobs.get_job(job)
            assert isinstance(stored, StoredJob)
            assert stored.progress == b"50%"
            assert await jobs.logs(job) == Logs((b"half",), 1)
            go_on.set()
    finally:
        go_on.set()


async def test_as_many_functions_run_at_once_as_there_are_slots(app: EchoMQ, queue: str) -> None:
    barrier = threading.Barrier(4, timeout=PATIENCE_S)

    def handler(run: Run) -> None:
        barrier.wait()

    jobs = app.jobs(queue)
    await jobs.enqueue_many([b""] * 12)
    options = quick(concurrency=4)
    worker = Worker(app, queue, handler, options=options)
    async with serving(worker):
        await counted(jobs, completed=12)
    assert worker.counts.retried == 0


async def test_dead_jobs_of_an_age_are_purged_when_asked_to(app: EchoMQ, queue: str) -> None:
    async def handler(run: Run) -> None:
        raise ValueError("boom")

    options = quick(max_attempts=1, purge_dead_after_ms=200, purge_every_ms=20)
    worker = Worker(app, queue, handler, options=options)
    await app.jobs(queue).enqueue_many([b""] * 5)

    async def all_purged() -> bool:
        return worker.counts.purged == 5

    async with serving(worker):
        await eventually(all_purged)
    assert worker.counts.dead == 5
    await counted(app.jobs(queue), dead=0)
