"""What other programs do to a queue's keys harms the jobs it is done to, and no other."""

import asyncio
import logging

import pytest

from echomq import EchoMQ
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import NewJob
from echomq.worker import Run, Worker
from tests.faults.worker.scene import PATIENCE_S, counted, eventually, quick, serving

FOREIGN = JobId.of_server(b"JOB\xff\xfe")


async def command(jobs: Jobs, *parts: str | bytes | int) -> None:
    client = await jobs._runner.client()  # type: ignore[attr-defined]  # the application's link
    await client.command(*parts)


async def test_a_foreign_id_whose_lease_lapsed_keeps_no_other_job_from_running(app: EchoMQ, queue: str) -> None:
    jobs = app.jobs(queue)
    ran: list[JobId] = []

    async def handler(run: Run) -> None:
        ran.append(run.job)

    own = {answer.job for answer in await jobs.enqueue_many([b""] * 20)}
    lapsed = {claimed.job for claimed in (await jobs.claim_many(lease_ms=1, size=10)).jobs}  # type: ignore[union-attr]
    await command(jobs, "HSET", jobs.keys.job(FOREIGN), "state", "active", "attempts", "1", "payload", "x")
    await command(jobs, "ZADD", jobs.keys.active, 1, FOREIGN)
    worker = Worker(app, queue, handler, options=quick())
    async with serving(worker):
        await counted(jobs, completed=21, pending=0, active=0, schedule=0, dead=0)
    assert len(lapsed) == 10
    assert set(ran) == own | {FOREIGN}
    assert len(ran) == 21


async def test_lanes_that_cannot_be_served_are_told_and_served_when_their_keys_are_mended(
    app: EchoMQ, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    jobs, total = app.jobs(queue), 300  # more than an ask looks at

    async def handler(run: Run) -> None: ...

    await jobs.enqueue_many([NewJob(await jobs.mint(), b"", lane=f"lane-{number}") for number in range(total)])
    await command(jobs, "SET", jobs.keys.group_active, "damaged")
    worker = Worker(app, queue, handler, options=quick(concurrency=1))
    async with serving(worker):

        async def has_told() -> bool:
            return worker.counts.errors >= 3

        await eventually(has_told)
        await command(jobs, "DEL", jobs.keys.group_active)
        await counted(jobs, completed=total, active=0)
    assert f"queue {queue}: jobs wait in lanes that cannot be served" in caplog.text


@pytest.mark.parametrize("ends", ["returns", "raises"])
async def test_a_job_whose_row_is_broken_while_it_runs_is_named_and_costs_no_other_job_its_run(
    app: EchoMQ, queue: str, ends: str, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = app.jobs(queue)
    runs: list[JobId] = []
    all_run, go_on = asyncio.Event(), asyncio.Event()

    async def handler(run: Run) -> None:
        runs.append(run.job)
        if len(runs) == 51:
            all_run.set()
        await go_on.wait()
        if run.payload == b"broken" and ends == "raises":
            raise ValueError("boom")

    broken = (await jobs.enqueue(b"broken")).job
    await jobs.enqueue_many([b""] * 50)
    worker = Worker(app, queue, handler, options=quick(concurrency=51, lease_ms=300_000))
    with caplog.at_level(logging.ERROR, "echomq.worker"):
        async with serving(worker), asyncio.timeout(PATIENCE_S):
            await all_run.wait()
            await command(jobs, "SET", jobs.keys.job(broken), "another program was here")
            go_on.set()
            await counted(jobs, completed=50)
            await eventually(lambda: _is(worker.counts.broken == 1))
    assert len(runs) == 51
    assert (worker.counts.completed, worker.counts.broken, worker.counts.lost) == (50, 1, 0)
    (record,) = caplog.records
    assert f"the row of {broken} attempt 1" in record.getMessage()
    assert "`remove`" in record.getMessage()
    await jobs.remove(broken)
    await counted(jobs, active=0)


async def test_a_damaged_key_that_stops_one_chore_stops_no_other_and_is_mended_at_any_time(
    app: EchoMQ, queue: str
) -> None:
    jobs = app.jobs(queue)
    ran: list[bytes | None] = []

    async def handler(run: Run) -> None:
        ran.append(run.payload)

    lapsed = (await jobs.enqueue(b"lapsed", max_attempts=1)).job
    await jobs.claim(lease_ms=1)  # by somebody who never comes back: no attempt is left, so reaping needs the dead set
    await command(jobs, "SET", jobs.keys.dead, "another program was here")
    worker = Worker(app, queue, handler, options=quick())
    async with serving(worker):
        await eventually(lambda: _is(worker.counts.errors >= 2))
        await jobs.enqueue_in(b"due", delay_ms=1)
        await counted(jobs, completed=1)
        assert ran == [b"due"]
        assert worker.counts.promoted == 1
        await command(jobs, "DEL", jobs.keys.dead)
        await counted(jobs, dead=1, active=0)
    assert worker.counts.reaped_dead == 1
    assert [each.job for each in (await jobs.browse("dead")).jobs] == [lapsed]


async def _is(condition: bool) -> bool:
    return condition
