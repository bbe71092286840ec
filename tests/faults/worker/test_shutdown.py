"""How a worker stops: grace, hand-back, signals, storms, and what it leaves behind (cases 83, 85, 87)."""

import asyncio
import json
import signal
import threading
import time
from pathlib import Path

import pytest

from echomq import EchoMQ
from echomq.errors import AlreadyRunning, Closed
from echomq.records import Failed, StoredJob
from echomq.states import JobState
from echomq.worker import Run, StopReport, Worker, WorkerOptions
from tests.faults.worker.scene import PATIENCE_S, counted, quick, serving, worker_process
from tests.servers import RealServer

# Nothing here is about leases that lapse or handlers that do not end, so a slow machine has all the time it needs.
OPTIONS = {"lease_ms": 300_000, "cancel_ms": 120_000, "reap_every_ms": 100, "promote_every_ms": 50, "beat_ms": 50}


async def forever(run: Run) -> None:
    await asyncio.Event().wait()


async def test_nothing_but_running_jobs_is_held_at_sigterm_and_all_jobs_end_after_a_restart(
    server: RealServer, app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    running = {(await jobs.enqueue(b"first-waits", max_attempts=1)).job for _ in range(2)}
    async with worker_process(server.url, queue, **OPTIONS, grace_ms=200) as stopped:
        for job in running:
            await stopped.said(f"start {job} 1")
        delayed = {(await jobs.enqueue_in(b"ok", delay_ms=3_600_000)).job for _ in range(20)}
        stopped.signal(signal.SIGTERM)
        report = await stopped.report()
        assert await stopped.exit_code() == 0
    assert set(report.pop("handed_back")) == {str(job) for job in running}
    assert not any(report.values())
    await counted(jobs, active=0, pending=2, schedule=20)
    for job in delayed:
        await jobs.reschedule(job, delay_ms=100)
    async with worker_process(server.url, queue, **OPTIONS) as restarted:
        await counted(jobs, completed=22, pending=0, active=0, schedule=0, dead=0)
        for job in running | delayed:  # the two have one attempt only, and it was not spent by the hand-back
            await restarted.said(f"end {job}")


async def test_a_storm_of_signals_while_tiny_jobs_flow_loses_and_strands_nothing(
    server: RealServer, app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    total = 30_000
    await jobs.enqueue_many([b"quiet"] * 5_000 + [b"storm 200"] + [b"quiet"] * (total - 5_001))
    async with worker_process(server.url, queue, **OPTIONS, concurrency=100) as worker:
        await worker.said("start")  # it sends itself the signals, at a moment when there is more to do
        worker.signal(signal.SIGTERM, times=200)  # and these come at any moment of its end
        report = await worker.report()
        counts = json.loads((await worker.said("counts "))[len("counts ") :])
        assert await worker.exit_code() == 0
    assert (report["abandoned"], report["lost"], report["failed"]) == ([], [], [])
    left = await jobs.counts()
    assert left["active"] == 0
    assert left["completed"] == counts["completed"]
    assert left["completed"] + left["pending"] == total
    assert left["pending"] > 0
    assert counts["claimed"] == counts["completed"] + counts["released"]


async def test_a_keyboard_interrupt_of_a_handler_fails_its_attempt_and_ctrl_c_stops_the_worker(
    server: RealServer, app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    poison = (await jobs.enqueue(b"interrupt")).job
    healthy = (await jobs.enqueue(b"ok")).job
    async with worker_process(server.url, queue, **OPTIONS, max_attempts=1, grace_ms=100) as worker:
        await worker.said(f"end {healthy}")
        await counted(jobs, dead=1, completed=1)
        running = (await jobs.enqueue(b"first-waits")).job
        await worker.said(f"start {running}")
        worker.signal(signal.SIGINT)
        assert (await worker.report())["handed_back"] == [str(running)]
        assert await worker.exit_code() == 0
    failure = await jobs.get_result(poison)
    assert isinstance(failure, Failed)
    assert failure.error.startswith("KeyboardInterrupt")


async def test_ctrl_c_ends_a_process_that_handles_no_signals_and_its_job_is_handed_back(
    server: RealServer, app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"first-waits")).job
    async with worker_process(server.url, queue, **OPTIONS, plain_run=1) as worker:
        await worker.said(f"start {job}")
        worker.signal(signal.SIGINT)
        assert await worker.exit_code() == -signal.SIGINT
    stored = await jobs.get_job(job)
    assert isinstance(stored, StoredJob)
    assert (stored.state, stored.attempts, stored.unspent) == (JobState.PENDING, 1, 1)


async def test_a_job_that_interrupts_a_process_that_handles_no_signals_has_spent_its_attempt(
    server: RealServer, app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"interrupt")).job
    async with worker_process(server.url, queue, **OPTIONS, plain_run=1, max_attempts=1) as worker:
        assert await worker.exit_code() == -signal.SIGINT
    assert await jobs.get_state(job) is JobState.DEAD


async def test_running_jobs_finish_within_the_grace_and_no_more_are_claimed(app: EchoMQ, queue: str) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def handler(run: Run) -> None:
        assert not run.stopping
        began.set()
        await go_on.wait()
        assert run.stopping

    jobs = app.jobs(queue)
    first = (await jobs.enqueue(b"")).job
    worker = Worker(app, queue, handler, options=quick(concurrency=1, **OPTIONS))
    async with serving(worker) as task, asyncio.timeout(PATIENCE_S):
        await began.wait()
        second = (await jobs.enqueue(b"")).job
        worker.stop()
        await asyncio.sleep(0)
        go_on.set()
        assert await task == StopReport(finished=(first,))
    assert await jobs.get_state(second) is JobState.PENDING


async def test_a_job_that_fails_within_the_grace_is_reported_as_failed(app: EchoMQ, queue: str) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def handler(run: Run) -> None:
        began.set()
        await go_on.wait()
        raise ValueError("boom")

    job = (await app.jobs(queue).enqueue(b"")).job
    worker = Worker(app, queue, handler)
    async with serving(worker) as task, asyncio.timeout(PATIENCE_S):
        await began.wait()
        worker.stop()
        await asyncio.sleep(0)
        go_on.set()
        assert await task == StopReport(failed=(job,))


async def test_a_second_stop_hands_back_at_once(app: EchoMQ, queue: str) -> None:
    began = asyncio.Event()

    async def handler(run: Run) -> None:
        began.set()
        await asyncio.Event().wait()

    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"")).job
    worker = Worker(app, queue, handler, options=WorkerOptions(grace_ms=3_600_000))
    async with serving(worker) as task, asyncio.timeout(PATIENCE_S):
        await began.wait()
        worker.stop()
        await asyncio.sleep(0.05)
        assert not task.done()
        worker.stop()
        assert await task == StopReport(handed_back=(job,))
    stored = await jobs.get_job(job)
    assert isinstance(stored, StoredJob)
    assert (stored.state, stored.attempts, stored.unspent) == (JobState.PENDING, 1, 1)


async def test_a_stop_from_another_thread_is_heard(app: EchoMQ, queue: str) -> None:
    worker = Worker(app, queue, forever)
    async with serving(worker) as task, asyncio.timeout(PATIENCE_S):
        thread = threading.Thread(target=worker.stop)
        thread.start()
        assert await task == StopReport()
        thread.join()


async def test_a_stop_before_the_run_ends_it_as_it_begins(app: EchoMQ, queue: str) -> None:
    job = (await app.jobs(queue).enqueue(b"")).job
    worker = Worker(app, queue, forever)
    worker.stop()
    worker.stop()
    async with asyncio.timeout(PATIENCE_S):
        await worker.run()
    assert await app.jobs(queue).get_state(job) is JobState.PENDING


async def test_a_function_that_does_not_end_is_handed_back_and_named(app: EchoMQ, queue: str) -> None:
    began, go_on = threading.Event(), threading.Event()
    lost: list[str | None] = []

    def handler(run: Run) -> bytes:
        began.set()
        go_on.wait(PATIENCE_S)
        lost.append(run.lost_because)
        return b"late"

    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"")).job
    worker = Worker(app, queue, handler, options=WorkerOptions(grace_ms=0, cancel_ms=50))
    try:
        async with serving(worker) as task, asyncio.timeout(PATIENCE_S):
            await asyncio.to_thread(began.wait, PATIENCE_S)
            worker.stop()
            report = await task
        assert report == StopReport(handed_back=(job,), still_running=(job,))
        assert await jobs.get_state(job) is JobState.PENDING
    finally:
        go_on.set()
    await _threads_end("echomq-job")
    assert lost[0] is not None
    assert worker.counts.completed == 0
    assert await jobs.get_state(job) is JobState.PENDING


async def test_a_coroutine_that_fights_its_cancelling_is_handed_back_and_named(app: EchoMQ, queue: str) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def handler(run: Run) -> bytes:
        began.set()
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue
        return b"late"

    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"")).job
    worker = Worker(app, queue, handler, options=WorkerOptions(grace_ms=0, cancel_ms=50))
    async with serving(worker) as task, asyncio.timeout(PATIENCE_S):
        await began.wait()
        worker.stop()
        assert await task == StopReport(handed_back=(job,), still_running=(job,))
    go_on.set()
    await asyncio.sleep(0)
    assert await jobs.get_state(job) is JobState.PENDING


async def test_a_cancelled_run_hands_back_what_it_holds(app: EchoMQ, queue: str) -> None:
    began = asyncio.Event()

    async def handler(run: Run) -> None:
        began.set()
        await asyncio.Event().wait()

    jobs = app.jobs(queue)
    job = (await jobs.enqueue(b"")).job
    task = asyncio.ensure_future(Worker(app, queue, handler).run())
    async with asyncio.timeout(PATIENCE_S):
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await jobs.get_state(job) is JobState.PENDING


async def test_a_worker_whose_application_was_closed_goes_down_with_the_reason(server: RealServer, queue: str) -> None:
    app = EchoMQ(server.url)
    worker = Worker(app, queue, forever, options=quick(**OPTIONS))
    await app.open()
    task = asyncio.ensure_future(worker.run())
    await counted(app.jobs(queue), pending=0)
    await app.aclose()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(Closed):
            await task


async def test_a_worker_runs_once_at_a_time_and_again_afterwards(app: EchoMQ, queue: str) -> None:
    jobs = app.jobs(queue)

    async def handler(run: Run) -> None: ...

    worker = Worker(app, queue, handler, options=quick(**OPTIONS))
    for turn in (1, 2):
        async with serving(worker):
            with pytest.raises(AlreadyRunning, match="runs already"):
                await worker.run()
            await jobs.enqueue(b"")
            await counted(jobs, completed=turn)
    assert worker.counts.completed == 2


async def test_two_hundred_starts_and_stops_leave_no_task_thread_or_socket(app: EchoMQ, queue: str) -> None:
    async def handler(run: Run) -> None:
        await asyncio.sleep(0)

    jobs = app.jobs(queue)
    worker = Worker(
        app, queue, handler, options=WorkerOptions(beat_ms=5, reap_every_ms=5, promote_every_ms=5, lease_ms=300_000)
    )
    await asyncio.gather(worker.run(), _stop_soon(worker, 0))
    tasks, threads, files = asyncio.all_tasks(), threading.active_count(), _open_files()
    for turn in range(200):
        await jobs.enqueue_many([b""] * 5)
        await asyncio.gather(worker.run(), _stop_soon(worker, turn % 12))
    assert asyncio.all_tasks() == tasks
    assert threading.active_count() == threads
    assert _open_files() == files
    assert worker.counts.claimed == worker.counts.completed + worker.counts.released
    await counted(jobs, active=0, completed=worker.counts.completed)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def _stop_soon(worker: Worker, turns: int) -> None:
    """Stop after some turns of the loop, so that over many runs every moment of a start is met."""
    for _ in range(turns):
        await asyncio.sleep(0)
    if turns % 3 == 2:
        await asyncio.sleep(0.002)
    worker.stop()
    if turns % 2:
        worker.stop()


async def _threads_end(name: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    for thread in threading.enumerate():
        if thread.name.startswith(name):
            await asyncio.to_thread(thread.join, deadline_s - time.monotonic())
            assert not thread.is_alive()
