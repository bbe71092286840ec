"""Workers whose asks the server keeps: nothing is lost or spent when they stop, die or stand still, and all may end.

Where a beat is an hour, only what the server gives can start a job: what is lost shows as a test that runs out of time.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from echomq import EchoMQ
from echomq.drivers.aio import AioClient
from echomq.jobs import Jobs
from echomq.records import StoredJob
from echomq.worker import Run, Worker, WorkerOptions
from tests.faults.worker.probe import Probe, heard, probing
from tests.faults.worker.scene import PATIENCE_S, counted, eventually, serving, worker_process
from tests.servers import RealServer, built_module, valkey_server

HOUR_MS: Final = 3_600_000


pytestmark = [
    pytest.mark.usefixtures("with_module"),
    pytest.mark.parametrize("with_module", ["module"], indirect=True, scope="session"),
]


class Started:
    """A handler that says when it begins."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._began = asyncio.Event()

    async def __call__(self, run: Run) -> None:
        self.runs.append(run)
        self._began.set()

    async def one(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self._began.wait()
        self._began.clear()


async def stored(jobs: Jobs, name: str) -> list[StoredJob]:
    """Return the jobs of a set."""
    rows = [await jobs.get_job(found.job) for found in (await jobs.browse(name, limit=1000)).jobs]
    return [row for row in rows if isinstance(row, StoredJob)]


# --- the stop -------------------------------------------------------------------------------------------------------


async def test_a_worker_that_stops_while_jobs_arrive_loses_none_and_spends_no_attempt(
    server: RealServer, app: EchoMQ, queue: str, probe: Probe
) -> None:
    """Each round stops it at another moment of a stream that another thread sends."""
    jobs, rounds, burst = app.jobs(queue), 40, 20
    ran = 0

    async def handler(run: Run) -> None:
        nonlocal ran
        ran += 1

    def produce(pause_s: float) -> None:
        with EchoMQ(server.url) as producer:
            for _ in range(burst):
                producer.blocking_jobs(queue).enqueue(b"")
                time.sleep(pause_s)  # a stream that keeps a worker busy would never find it waiting

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as pool:
        for number in range(rounds):
            worker = Worker(app, queue, handler, options=WorkerOptions(beat_ms=HOUR_MS))
            async with serving(worker):
                await probe.parked(1)
                producing = loop.run_in_executor(pool, produce, 0.0005)
                await asyncio.sleep(0.0005 * (number % 20))  # any moment
            counts = await jobs.counts(("active",))
            assert counts["active"] == 0, "a job is leased to a worker that has gone"
            await producing
    left = await stored(jobs, "pending")
    assert ran + len(left) == rounds * burst
    assert [row for row in left if row.attempts != row.unspent] == []


async def test_a_worker_that_may_not_unblock_itself_stops_all_the_same(
    server: RealServer, queue: str, probe: Probe
) -> None:
    await probe.client.command("ACL", "SETUSER", "plain", "on", ">secret", "~*", "&*", "+@all", "-client|unblock")
    async with EchoMQ(server.url.replace("unix://", "unix://plain:secret@")) as app:
        worker = Worker(app, queue, Started(), options=WorkerOptions(beat_ms=HOUR_MS))
        async with serving(worker):
            await probe.parked(1)
        await probe.parked(0)
        await app.jobs(queue).enqueue(b"")
        assert (await app.jobs(queue).counts(("pending",)))["pending"] == 1
        assert await probe.client.command("EXISTS", app.jobs(queue).keys.watch) == 0


# --- workers that die or stand still --------------------------------------------------------------------------------


async def test_a_killed_worker_whose_ask_was_kept_is_given_nothing(
    server: RealServer, app: EchoMQ, queue: str, probe: Probe
) -> None:
    jobs = app.jobs(queue)
    async with worker_process(server.url, queue, beat_ms=HOUR_MS) as killed:
        await probe.parked(1)
        killed.kill()
        await killed.exit_code()
        await probe.parked(0)
        await jobs.enqueue(b"")
    (row,) = await stored(jobs, "pending")
    assert row.attempts == 0


async def test_a_worker_that_stands_still_for_longer_than_its_lease_runs_nothing_of_what_it_was_given(
    server: RealServer, app: EchoMQ, queue: str, probe: Probe
) -> None:
    jobs, started = app.jobs(queue), Started()
    async with worker_process(server.url, queue, beat_ms=HOUR_MS, lease_ms=300) as still:
        await probe.parked(1)
        still.signal(signal.SIGSTOP)
        await jobs.enqueue(b"")
        await counted(jobs, active=1)  # it was given the job
        async with serving(Worker(app, queue, started, options=WorkerOptions(beat_ms=50))):
            await started.one()
            await counted(jobs, completed=1)
        assert [run.attempt for run in started.runs] == [2]
        still.signal(signal.SIGCONT)
        await probe.parked(1)
        assert still.count("start") == 0
        await jobs.enqueue(b"")
        await still.said("end")
        still.signal(signal.SIGTERM)
        await still.report()
    await counted(jobs, completed=2)


# --- servers that change --------------------------------------------------------------------------------------------


async def test_where_nobody_may_wait_any_more_workers_park_and_the_module_can_be_unloaded(queue: str) -> None:
    module, started = built_module(), Started()
    assert module is not None
    with valkey_server("--loadmodule", module, "--enable-module-command", "yes") as server:
        async with EchoMQ(server.url) as app, probing(server) as probe:
            jobs = app.jobs(queue)
            async with serving(Worker(app, queue, started, options=WorkerOptions(beat_ms=100))):
                await jobs.enqueue(b"")
                await started.one()
                await probe.client.command("CONFIG", "SET", "echomq.blocking", "no")
                await waits_with(probe, "blpop")
                await jobs.enqueue(b"")
                await started.one()
                await probe.client.command("MODULE", "UNLOAD", "echomq")
                for _ in range(3):
                    await jobs.enqueue(b"")
                    await started.one()
                await waits_with(probe, "blpop")
                await probe.client.command("MODULE", "LOAD", module)
                await probe.client.command("CLIENT", "KILL", "TYPE", "normal")  # but the one that asks
                await waits_with(probe, "EMQ.TAKE")  # each new link finds it anew
            await counted(jobs, completed=5)


async def waits_with(probe: Probe, command: str) -> None:
    """Wait until one worker waits on the server, by this command."""

    async def is_so() -> bool:
        return [link["cmd"] for link in await probe.links() if "b" in link["flags"]] == [command]

    await eventually(is_so)


@contextlib.asynccontextmanager
async def nobody_waits(client: AioClient) -> AsyncIterator[None]:
    await client.command("CONFIG", "SET", "echomq.blocking", "no")
    try:
        yield
    finally:
        await client.command("CONFIG", "SET", "echomq.blocking", "yes")


@pytest.mark.parametrize("paused", [False, True])
async def test_where_nobody_may_wait_an_idle_worker_costs_no_more_than_without_the_module(
    server: RealServer, app: EchoMQ, queue: str, probe: Probe, paused: bool
) -> None:
    beat_ms, beats = 100, 10
    if paused:
        await app.jobs(queue).pause()
    options = WorkerOptions(beat_ms=beat_ms, reap_every_ms=HOUR_MS, promote_every_ms=HOUR_MS)
    async with nobody_waits(probe.client), serving(Worker(app, queue, Started(), options=options)):
        await waits_with(probe, "blpop")
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        async with heard(server, probe) as sent:
            await asyncio.sleep(beats * beat_ms / 1000)
        lasted = (loop.time() - began_s) * 1000 / beat_ms
    assert set(sent) == {"take", "BLPOP"}
    assert len(sent) <= lasted + 2


async def test_a_user_who_may_not_take_by_the_command_is_woken_by_tokens(
    server: RealServer, queue: str, probe: Probe
) -> None:
    await probe.client.command("ACL", "SETUSER", "scripts", "on", ">secret", "~*", "&*", "+@all", "-emq.take")
    started = Started()
    async with EchoMQ(server.url.replace("unix://", "unix://scripts:secret@")) as app:
        worker = Worker(app, queue, started, options=WorkerOptions(beat_ms=HOUR_MS))
        async with serving(worker):
            for _ in range(3):
                await waits_with(probe, "blpop")
                await app.jobs(queue).enqueue(b"")
                await started.one()
        assert worker.counts.errors == 0


# --- what is due ----------------------------------------------------------------------------------------------------


async def test_a_delayed_job_starts_when_it_is_due_though_the_server_looks_at_time_outs_ten_times_a_second(
    app: EchoMQ, queue: str, probe: Probe
) -> None:
    """The job is due after some waits that were too short to be told of it."""
    jobs, late_ms = app.jobs(queue), []
    started = Started()
    async with serving(Worker(app, queue, started, options=WorkerOptions(beat_ms=50))):
        for _ in range(12):
            scheduled = time.monotonic()
            await jobs.enqueue_in(b"", delay_ms=330)
            await started.one()
            late_ms.append((time.monotonic() - scheduled) * 1000 - 330)
    assert min(late_ms) > -1
    assert sorted(late_ms)[len(late_ms) // 4] < 20, late_ms


async def test_a_paused_queue_is_looked_after_while_asks_are_kept(app: EchoMQ, queue: str, probe: Probe) -> None:
    jobs, started = app.jobs(queue), Started()
    await jobs.pause()
    options = WorkerOptions(beat_ms=50, reap_every_ms=50, promote_every_ms=50)
    async with serving(Worker(app, queue, started, options=options)):
        await probe.parked(1)
        await jobs.enqueue_in(b"", delay_ms=100)
        await counted(jobs, schedule=0, pending=1)
        await jobs.resume()
        await started.one()


async def test_a_queue_that_is_paused_while_an_ask_is_kept_is_looked_after(
    app: EchoMQ, queue: str, probe: Probe
) -> None:
    jobs, started = app.jobs(queue), Started()
    options = WorkerOptions(beat_ms=50, reap_every_ms=50, promote_every_ms=50)
    async with serving(Worker(app, queue, started, options=options)):
        await probe.parked(1)
        await jobs.pause()
        await jobs.enqueue_in(b"", delay_ms=100)
        await counted(jobs, schedule=0, pending=1)
        assert started.runs == []
        await jobs.resume()
        await started.one()
