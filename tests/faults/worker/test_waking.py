"""Waking: as many workers as there is work for, each at once, and nothing that goes wrong loses a wake-up.

Where a beat is an hour, only a wake-up can start a job: a lost one shows as a test that runs out of time.
"""

import asyncio
import contextlib
import random
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

import pytest

from echomq import EchoMQ
from echomq.errors import ServerError
from echomq.records import ClaimedMany, NewJob
from echomq.transitions.enqueue import enqueue
from echomq.worker import Backoff, Run, Worker, WorkerOptions
from tests.faults.worker.probe import Probe, heard, probing
from tests.faults.worker.scene import PATIENCE_S, counted, eventually, serving, worker_process
from tests.servers import RealServer, valkey_server

HOUR_MS: Final = 3_600_000
K: Final = 4


class Crew:
    """Workers with one slot each, whose handlers all wait until `expected` of them run at once."""

    def __init__(self, app: EchoMQ, queue: str, *, size: int, expected: int) -> None:
        self.expected = expected
        self.runs: list[Run] = []
        self.all_run = asyncio.Event()
        options = WorkerOptions(concurrency=1, beat_ms=HOUR_MS, reap_every_ms=HOUR_MS, promote_every_ms=HOUR_MS)
        self.workers = [Worker(app, queue, self._handle, options=options) for _ in range(size)]

    async def _handle(self, run: Run) -> None:
        self.runs.append(run)
        if len(self.runs) == self.expected:
            self.all_run.set()
        await self.all_run.wait()

    @property
    def woken(self) -> int:
        return sum(worker.counts.woken for worker in self.workers)

    async def until_all_run(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.all_run.wait()


@contextlib.asynccontextmanager
async def serving_all(workers: list[Worker]) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for worker in workers:
            await stack.enter_async_context(serving(worker))
        yield


# --- k jobs wake k workers at most, and all of these at once --------------------------------------------------------


class Arrival:
    """How K jobs become servable: what is so before, and what makes them so."""

    def __init__(self, app: EchoMQ, queue: str) -> None:
        self.jobs = app.jobs(queue)
        self.lanes = app.lanes(queue)

    async def before(self) -> None: ...

    async def now(self) -> None: ...

    async def held(self, count: int = K, *, lane: str | None = None) -> ClaimedMany:
        """Enqueue so many jobs and hold them, as another program does."""
        for _ in range(count):
            await self.jobs.enqueue(b"held", lane=lane)
        if lane is not None:
            await self.lanes.claim_lane(lease_ms=HOUR_MS)
            return ClaimedMany((), 0)
        answer = await self.jobs.claim_many(lease_ms=HOUR_MS, size=count)
        assert isinstance(answer, ClaimedMany)
        assert len(answer.jobs) == count
        return answer


class Flat(Arrival):
    async def now(self) -> None:
        for _ in range(K):
            await self.jobs.enqueue(b"")


class OneLane(Arrival):
    async def now(self) -> None:
        for _ in range(K):
            await self.jobs.enqueue(b"", lane="a")


class ManyLanes(Arrival):
    async def now(self) -> None:
        for number in range(K):
            await self.jobs.enqueue(b"", lane=f"lane-{number}")


class ManyFlat(Arrival):
    async def now(self) -> None:
        await self.jobs.enqueue_many([b""] * K)


class ManyIntoOneLane(Arrival):
    async def now(self) -> None:
        await self.jobs.enqueue_many([NewJob(await self.jobs.mint(), b"", lane="a") for _ in range(K)])


class ManyIntoLanesAndFlat(Arrival):
    async def now(self) -> None:
        lanes = ["a", None, "b", "a"]
        await self.jobs.enqueue_many([NewJob(await self.jobs.mint(), b"", lane=lane) for lane in lanes])


class Promotion(Arrival):
    async def before(self) -> None:
        self.due = [(await self.jobs.enqueue_in(b"", delay_ms=HOUR_MS * 9, lane=lane)).job for lane in ("a", None) * 2]

    async def now(self) -> None:
        for job in self.due:
            await self.jobs.promote_now(job)


class Recovery(Arrival):
    async def before(self) -> None:
        self.claimed = (await self.held()).jobs

    async def now(self) -> None:
        for claimed in self.claimed:
            await self.jobs.extend(claimed.job, claimed.token, lease_ms=1)

        await asyncio.sleep(0.01)  # the leases lapse
        await self.jobs.reap()


class Release(Arrival):
    async def before(self) -> None:
        self.claimed = (await self.held()).jobs

    async def now(self) -> None:
        for claimed in self.claimed:
            await self.jobs.release(claimed.job, claimed.token)


class Resume(Arrival):
    async def before(self) -> None:
        await self.jobs.pause()
        await self.jobs.enqueue_many([b""] * (K - 1))
        await self.jobs.enqueue(b"", lane="a")

    async def now(self) -> None:
        await self.jobs.resume()


class ResumedLane(Arrival):
    async def before(self) -> None:
        await self.lanes.pause("a")
        for _ in range(K):
            await self.jobs.enqueue(b"", lane="a")

    async def now(self) -> None:
        await self.lanes.resume("a")


class RaisedLimit(Arrival):
    async def before(self) -> None:
        await self.held(1, lane="a")
        await self.lanes.limit("a", 1)
        for _ in range(K + 3):
            await self.jobs.enqueue(b"", lane="a")

    async def now(self) -> None:
        await self.lanes.limit("a", 1 + K)


class RaisedCeiling(Arrival):
    async def before(self) -> None:
        await self.held(1)
        await self.jobs.set_concurrency(1)
        await self.jobs.enqueue_many([b""] * (K + 3))

    async def now(self) -> None:
        await self.jobs.set_concurrency(1 + K)


ARRIVALS = [
    Flat,
    OneLane,
    ManyLanes,
    ManyFlat,
    ManyIntoOneLane,
    ManyIntoLanesAndFlat,
    Promotion,
    Recovery,
    Release,
    Resume,
    ResumedLane,
    RaisedLimit,
    RaisedCeiling,
]


@pytest.mark.parametrize("arrival", ARRIVALS)
async def test_k_jobs_wake_k_workers_at_most_and_all_of_them_start_at_once(
    app: EchoMQ, queue: str, probe: Probe, arrival: type[Arrival]
) -> None:
    scene = arrival(app, queue)
    await scene.before()
    crew = Crew(app, queue, size=K + 2, expected=K)
    async with serving_all(crew.workers):
        await probe.parked(K + 2)
        before = crew.woken
        await scene.now()
        await crew.until_all_run()
        assert crew.woken - before <= K


async def test_one_worker_with_room_is_woken_once_for_many_jobs(app: EchoMQ, queue: str, probe: Probe) -> None:
    done: list[Run] = []

    async def handler(run: Run) -> None:
        done.append(run)

    options = WorkerOptions(concurrency=50, beat_ms=HOUR_MS)
    workers = [Worker(app, queue, handler, options=options) for _ in range(3)]
    async with serving_all(workers):
        await probe.parked(3)
        await app.jobs(queue).enqueue_many([b""] * 50)
        await counted(app.jobs(queue), completed=50)
    assert sum(worker.counts.woken for worker in workers) == 1
    assert len(done) == 50


# --- an idle queue --------------------------------------------------------------------------------------------------


async def test_an_idle_queue_costs_one_command_a_beat_and_worker_all_in_all_and_half_of_it_with_the_module(
    queue: str, with_module: bool, server_arguments: tuple[str, ...]
) -> None:
    beat_ms, beats, size = 100, 20, 5
    options = WorkerOptions(beat_ms=beat_ms, reap_every_ms=beat_ms, promote_every_ms=beat_ms)

    async def handler(run: Run) -> None: ...

    loop = asyncio.get_running_loop()
    with valkey_server(*server_arguments) as server:
        async with contextlib.AsyncExitStack() as stack:
            probe = await stack.enter_async_context(probing(server))
            for _ in range(size):
                app = await stack.enter_async_context(EchoMQ(server.url))
                await stack.enter_async_context(serving(Worker(app, queue, handler, options=options)))
            await probe.parked(size)
            began_s = loop.time()
            async with heard(server, probe) as sent:
                await asyncio.sleep(beats * beat_ms / 1000)  # what is counted is what happens in this time
            lasted = (loop.time() - began_s) * 1000 / beat_ms
    assert set(sent) == ({"take_blocking"} if with_module else {"take", "BLPOP"})
    # Two beats more: what a worker does once in two beats may happen at both ends.
    assert len(sent) <= size * (lasted + 2) / (2 if with_module else 1)


async def test_no_seat_under_a_ceiling_stays_free_while_jobs_wait(app: EchoMQ, queue: str) -> None:
    """Jobs that end one after the other free seats for both workers, whoever is told first."""
    ceiling, rounds = 5, 12
    gate = asyncio.Event()

    async def handler(run: Run) -> None:
        await gate.wait()

    options = WorkerOptions(concurrency=4, beat_ms=HOUR_MS)
    workers = [Worker(app, queue, handler, options=options) for _ in range(2)]
    jobs = app.jobs(queue)
    await jobs.set_concurrency(ceiling)
    for number in range(ceiling * (rounds + 1)):
        await jobs.enqueue(b"", lane=f"lane-{number % 3}")

    async def all_seats_are_taken() -> bool:
        assert sum(worker.running for worker in workers) <= ceiling
        return sum(worker.running for worker in workers) == ceiling

    async with serving_all(workers):
        for _ in range(rounds):
            await eventually(all_seats_are_taken)
            opened, gate = gate, asyncio.Event()
            opened.set()
        gate.set()


async def test_a_delayed_job_is_watched_for_by_one_worker_and_starts_when_it_is_due(
    server: RealServer, app: EchoMQ, queue: str, probe: Probe, with_module: bool
) -> None:
    crew = Crew(app, queue, size=3, expected=1)
    async with serving_all(crew.workers):
        await probe.parked(3)
        async with heard(server, probe) as sent:
            await app.jobs(queue).enqueue_in(b"", delay_ms=300)
            await crew.until_all_run()
    assert sorted(worker.counts.promoted for worker in crew.workers) == [0, 0, 1]
    assert crew.woken <= 2  # one who watches, and one for the job
    assert (sent.count("reap"), sent.count("promote")) == (1, 1)
    if with_module:
        # Woken, one asks again; when the job is due it is promoted, and an ask that waits brings it. Who watched asks
        # again when its time is over, and who ran the job does, once more than that and without waiting.
        assert sent.count("take_blocking") <= 4
        assert sent.count("take") <= 1
        assert "BLPOP" not in sent
    else:
        # Woken, one asks and parks; when the job is due it asks, and asks again after the promotion; another may be
        # woken by that, and asks; who ran the job asks once more; each may park again.
        assert sent.count("take") <= 5
        assert sent.count("BLPOP") <= 4


async def test_no_delayed_job_is_left_lying_however_many_workers_watch_in_turn(
    app: EchoMQ, queue: str, probe: Probe
) -> None:
    total, started, all_started = 300, 0, asyncio.Event()

    async def handler(run: Run) -> None:
        nonlocal started
        started += 1
        if started == total:
            all_started.set()

    jobs, dice = app.jobs(queue), random.Random(7)
    workers = [
        Worker(app, queue, handler, options=WorkerOptions(concurrency=1 + number % 3, beat_ms=HOUR_MS))
        for number in range(5)
    ]
    async with serving_all(workers):
        await probe.parked(5)
        for number in range(total):
            delay_ms = dice.choice([1, 7, 40, 200, 700])
            await jobs.enqueue_in(b"", delay_ms=delay_ms, lane="a" if number % 2 else None)
            await asyncio.sleep(dice.random() / 150)  # over two seconds, so that the watch changes hands
        async with asyncio.timeout(PATIENCE_S):
            await all_started.wait()
    assert sum(worker.counts.promoted for worker in workers) == total


async def test_the_first_of_many_due_jobs_starts_before_all_are_promoted(app: EchoMQ, queue: str, probe: Probe) -> None:
    jobs, total = app.jobs(queue), 2_000
    left_at_first: list[int] = []

    async def handler(run: Run) -> None:
        if not left_at_first:
            left_at_first.append((await jobs.counts())["schedule"])

    await asyncio.gather(*[jobs.enqueue_at(b"", at_ms=1, lane=f"lane-{number % 10}") for number in range(total)])
    await counted(jobs, schedule=total)
    options = WorkerOptions(concurrency=10, beat_ms=HOUR_MS, promote_every_ms=HOUR_MS)
    async with serving(Worker(app, queue, handler, options=options)):
        await counted(jobs, completed=total, schedule=0)
    assert left_at_first[0] > total / 2


async def test_jobs_that_a_worker_put_off_itself_start_when_they_are_due(app: EchoMQ, queue: str, probe: Probe) -> None:
    attempts: list[int] = []
    second = asyncio.Event()

    async def handler(run: Run) -> None:
        attempts.append(run.attempt)
        if run.attempt == 1:
            raise ValueError("first time")
        second.set()

    options = WorkerOptions(beat_ms=HOUR_MS, promote_every_ms=HOUR_MS, retry=Backoff.fixed(50))
    async with serving(Worker(app, queue, handler, options=options)):
        await probe.parked(1)
        await app.jobs(queue).enqueue(b"")
        async with asyncio.timeout(PATIENCE_S):
            await second.wait()
    assert attempts == [1, 2]


async def test_a_lapsed_lease_is_taken_back_by_a_parked_worker(app: EchoMQ, queue: str, probe: Probe) -> None:
    jobs = app.jobs(queue)
    await jobs.enqueue(b"")
    await jobs.claim(lease_ms=300)  # by somebody who never comes back
    crew = Crew(app, queue, size=2, expected=1)
    async with serving_all(crew.workers):
        await crew.until_all_run()
    assert sum(worker.counts.recovered for worker in crew.workers) == 1


async def test_a_job_that_wakes_nobody_is_found_by_the_beat_or_at_once_with_the_module(
    app: EchoMQ, queue: str, probe: Probe, with_module: bool
) -> None:
    jobs, ran = app.jobs(queue), asyncio.Event()

    async def handler(run: Run) -> None:
        ran.set()

    worker = Worker(app, queue, handler, options=WorkerOptions(beat_ms=HOUR_MS if with_module else 50))
    async with serving(worker):
        await probe.parked(1)
        published = enqueue(jobs.keys, await jobs.mint(), b"")
        await probe.client.run(replace(published, keys=published.keys[:2]))
        async with asyncio.timeout(PATIENCE_S):
            await ran.wait()
    assert worker.counts.woken == (1 if with_module else 0)


async def test_runs_and_log_lines_name_the_lane(app: EchoMQ, queue: str, caplog: pytest.LogCaptureFixture) -> None:
    lanes: list[str | None] = []

    async def handler(run: Run) -> None:
        lanes.append(run.lane)
        raise ValueError("boom")

    async with serving(Worker(app, queue, handler, options=WorkerOptions(max_attempts=1))):
        await app.jobs(queue).enqueue(b"", lane="acme")
        await app.jobs(queue).enqueue(b"")
        await counted(app.jobs(queue), dead=2)
    assert set(lanes) == {"acme", None}
    assert "attempt 1 of lane acme failed and is dead" in caplog.text


# --- what goes wrong ------------------------------------------------------------------------------------------------


async def test_the_wake_up_of_a_worker_that_is_killed_is_made_good_within_two_beats_or_its_lease(
    server: RealServer, app: EchoMQ, queue: str, probe: Probe
) -> None:
    """With the module the job itself was served to it, and runs again when its lease is over."""
    ran = asyncio.Event()

    async def handler(run: Run) -> None:
        ran.set()

    async with worker_process(server.url, queue, beat_ms=HOUR_MS, lease_ms=300) as killed:
        await probe.parked(1)
        worker = Worker(app, queue, handler, options=WorkerOptions(beat_ms=50))
        async with serving(worker):
            await probe.parked(2)
            killed.signal(signal.SIGSTOP)  # it has waited longest, so the token is its
            await app.jobs(queue).enqueue(b"")
            killed.kill()
            async with asyncio.timeout(PATIENCE_S):
                await ran.wait()


async def test_a_server_that_restarts_while_workers_are_parked_wakes_them_again(queue: str) -> None:
    with valkey_server() as server:
        async with EchoMQ(server.url) as app, probing(server) as probe:
            crew = Crew(app, queue, size=3, expected=3)
            async with serving_all(crew.workers):
                await probe.parked(3)
                await asyncio.to_thread(server.restart)
                await probe.parked(3)
                await app.jobs(queue).enqueue_many([b""] * 3)
                await crew.until_all_run()


async def test_a_parking_link_that_is_cut_is_made_again(
    app: EchoMQ, queue: str, probe: Probe, with_module: bool, caplog: pytest.LogCaptureFixture
) -> None:
    crew = Crew(app, queue, size=1, expected=1)
    async with serving_all(crew.workers):
        links = set()
        for _ in range(5):
            await probe.parked(1)
            links.update(await probe.parking_links())
            for link in links:
                with contextlib.suppress(ServerError):  # those that were killed before
                    await probe.client.command("CLIENT", "KILL", "ID", link)
        await probe.parked(1)
        assert len(links) == 5
        await app.jobs(queue).enqueue(b"")
        await crew.until_all_run()
    # An ask that waited may have been served as it was lost: that is an error, and told. A token is made good.
    assert crew.workers[0].counts.errors == (5 if with_module else 0)
    assert ("jobs may have been claimed, and nobody runs them until their lease" in caplog.text) == with_module


async def test_stopping_while_parked_is_prompt_and_loses_no_wake_up(app: EchoMQ, queue: str, probe: Probe) -> None:
    jobs, ran = app.jobs(queue), asyncio.Event()

    async def handler(run: Run) -> None:
        ran.set()

    async def run_one() -> None:
        ran.clear()
        await jobs.enqueue(b"")
        async with asyncio.timeout(PATIENCE_S):
            await ran.wait()

    options = WorkerOptions(beat_ms=HOUR_MS)
    rounds = 30
    async with serving(Worker(app, queue, handler, options=options)):
        for number in range(rounds):
            await probe.parked(1)
            leaving = Worker(app, queue, handler, options=options)
            async with serving(leaving):
                await probe.parked(2)
                await run_one()  # by the other, which has waited longer
                await probe.parked(2)
                adding = asyncio.ensure_future(run_one())
                for _ in range(number % 6):
                    await asyncio.sleep(0)
            await adding
            await counted(jobs, pending=0, active=0)
    await counted(jobs, completed=2 * rounds)
    assert await probe.client.command("EXISTS", jobs.keys.watch) == 0


async def test_no_job_of_a_stream_is_left_lying_while_workers_linger_and_leave(
    app: EchoMQ, queue: str, probe: Probe
) -> None:
    jobs, rounds, burst = app.jobs(queue), 10, 60

    async def handler(run: Run) -> None: ...

    async def produce() -> None:
        for _ in range(burst):
            await jobs.enqueue(b"")

    options = WorkerOptions(concurrency=10, beat_ms=HOUR_MS)
    async with serving_all([Worker(app, queue, handler, options=options) for _ in range(2)]):
        for number in range(rounds):
            await probe.parked(2)
            async with serving(Worker(app, queue, handler, options=options)):
                await probe.parked(3)
                producing = [asyncio.ensure_future(produce()) for _ in range(1 + number % 3)]
                await producing[0]
            await asyncio.gather(*producing)
            await counted(jobs, pending=0, active=0)
    await counted(jobs, completed=burst * sum(1 + number % 3 for number in range(rounds)))


async def test_a_stream_costs_a_worker_less_than_a_park_and_an_ask_for_each_job(
    server: RealServer, app: EchoMQ, queue: str, probe: Probe
) -> None:
    jobs, total = app.jobs(queue), 1_000

    async def handler(run: Run) -> None: ...

    options = WorkerOptions(concurrency=100, beat_ms=HOUR_MS, gather_ms=50)  # long, so that a slow machine streams too
    async with serving(Worker(app, queue, handler, options=options)):
        await probe.parked(1)
        async with heard(server, probe) as sent:
            for _ in range(total):
                await jobs.enqueue(b"")
            await counted(jobs, pending=0, active=0)
    assert sent.count("take") + sent.count("BLPOP") + sent.count("take_blocking") < total


async def test_a_worker_that_may_not_park_finds_work_by_asking(
    server: RealServer, queue: str, probe: Probe, with_module: bool, caplog: pytest.LogCaptureFixture
) -> None:
    not_this = ("-blpop", "-emq.take") if with_module else ("-blpop",)
    await probe.client.command("ACL", "SETUSER", "polls", "on", ">secret", "~*", "&*", "+@all", *not_this)
    ran = asyncio.Event()

    async def handler(run: Run) -> None:
        ran.set()

    async with EchoMQ(server.url.replace("unix://", "unix://polls:secret@")) as app:
        worker = Worker(app, queue, handler, options=WorkerOptions(beat_ms=20))
        async with serving(worker):

            async def has_failed() -> bool:
                return worker.counts.errors > 0

            await eventually(has_failed)
            await app.jobs(queue).enqueue(b"")
            async with asyncio.timeout(PATIENCE_S):
                await ran.wait()
    assert "parking failed" in caplog.text
