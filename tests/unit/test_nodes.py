"""Holding a node number: decisions without a server, then many real processes against one (W1)."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from echomq import EchoMQ, Enqueued, Scheduled
from echomq.blocking_jobs import BlockingJobs
from echomq.codec import PAYLOAD_BYTES_MAX
from echomq.errors import ClockOutOfRange, Disconnected, NodeLeaseLapsed, NodesExhausted
from echomq.ids import EPOCH_MS, LAST_MS, JobId
from echomq.model.keyspace import Keyspace
from echomq.model.queue import Model
from echomq.nodes import LEASE_PATIENCE_MS, Lease, NodeHolder
from echomq.records import NodesTaken
from tests.servers import RealServer, valkey_server

LEASE_MS = 60_000


class StoppedClock:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def unix_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(EPOCH_MS + 1_000_000)


@pytest.fixture
def model() -> Model:
    return Model(Keyspace())


def right_to_lease(holder: NodeHolder) -> Lease:
    due = holder.due()
    assert isinstance(due, Lease)
    return due


def lease(holder: NodeHolder, model: Model) -> None:
    right = right_to_lease(holder)
    holder.accept(right, model.run(right.call))


def test_a_lease_is_due_before_the_first_mint_only(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    with pytest.raises(NodeLeaseLapsed):
        holder.mint()
    lease(holder, model)
    assert holder.due() is None
    assert holder.mint().node == holder.node


def test_two_holders_get_two_numbers(clock: StoppedClock, model: Model) -> None:
    first, second = NodeHolder(clock=clock), NodeHolder(clock=clock)
    lease(first, model)
    lease(second, model)
    assert first.node != second.node


def test_a_lease_is_renewed_after_half_of_it_and_keeps_its_number(clock: StoppedClock, model: Model) -> None:
    holder, other = NodeHolder(clock=clock), NodeHolder(clock=clock)
    lease(holder, model)
    node = holder.node
    lease(other, model)
    clock.now_ms += LEASE_MS // 2
    lease(holder, model)
    assert holder.node == node
    clock.now_ms += LEASE_MS // 2 - 1
    assert holder.mint().node == node


def test_a_lapsed_number_is_taken_over_above_its_mark(clock: StoppedClock, model: Model) -> None:
    holders = [NodeHolder(clock=clock) for _ in range(1024)]
    for holder in holders:
        lease(holder, model)
    late = NodeHolder(clock=clock)
    right = right_to_lease(late)
    with pytest.raises(NodesExhausted) as refused:
        late.accept(right, model.run(right.call))
    assert 0 < refused.value.retry_after_ms <= LEASE_MS
    mark_ms = clock.now_ms + LEASE_MS
    model.keyspace.advance(LEASE_MS)
    lease(late, model)
    assert late.node in {holder.node for holder in holders}
    assert late.mint().minted_at_ms == mark_ms + 1


def test_a_holder_whose_number_was_taken_over_gets_another_or_the_same_above_every_mark(
    clock: StoppedClock, model: Model
) -> None:
    first = NodeHolder(clock=clock)
    lease(first, model)
    before = first.mint()
    clock.now_ms += 10 * LEASE_MS
    model.keyspace.advance(10 * LEASE_MS)
    with pytest.raises(NodeLeaseLapsed):
        first.mint()
    lease(first, model)
    assert first.mint() > before


def test_a_returned_number_is_free_at_once_and_its_mark_is_the_last_mint(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    lease(holder, model)
    last = holder.mint()
    call = holder.call_to_return()
    assert call is not None
    model.run(call)
    entry = model.keyspace.dump()[b"{emq}:node_owners"]
    assert str(last.minted_at_ms).encode() in repr(entry).encode()
    assert holder.call_to_return() is None


def test_ids_that_run_ahead_of_the_clock_are_leased_ahead_too(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock, lease_ms=10)
    lease(holder, model)
    minted: list[JobId] = []
    while len(minted) < 4096 * 20:
        if (due := holder.due()) is not None:
            assert isinstance(due, Lease)
            holder.accept(due, model.run(due.call))
        minted.append(holder.mint())
    assert minted == sorted(set(minted))
    assert minted[-1].minted_at_ms > clock.now_ms + 10


def test_a_number_given_by_hand_is_never_leased_or_returned(clock: StoppedClock) -> None:
    holder = NodeHolder(node=7, clock=clock)
    assert holder.due() is None
    assert holder.mint().node == 7
    assert holder.call_to_return() is None


def test_exhaustion_says_when_to_try_again() -> None:
    holder = NodeHolder()
    right = right_to_lease(holder)
    with pytest.raises(NodesExhausted, match="may lapse in 1234 ms"):
        holder.accept(right, NodesTaken(1234))


def test_one_leases_for_all_and_the_others_wait(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    right = right_to_lease(holder)
    waiting = [holder.due() for _ in range(3)]
    assert waiting == [right.done] * 3
    holder.accept(right, model.run(right.call))
    assert right.done.result(0) is None
    assert holder.due() is None


def test_a_lease_that_failed_is_told_to_those_who_wait_and_tried_by_the_next(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    right = right_to_lease(holder)
    holder.failed(right, Disconnected("away"))
    with pytest.raises(Disconnected, match="away"):
        right.done.result(0)
    right = right_to_lease(holder)
    holder.failed(right, KeyboardInterrupt())
    assert right.done.result(0) is None
    lease(holder, model)
    assert holder.mint().node == holder.node


def test_a_leaser_that_was_given_up_loses_its_right(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    given_up = right_to_lease(holder)
    clock.now_ms += LEASE_PATIENCE_MS
    lease(holder, model)
    node = holder.node
    holder.failed(given_up, Disconnected("late"))
    assert holder.node == node


def test_while_one_renews_the_others_mint_up_to_the_mark(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    lease(holder, model)
    clock.now_ms += LEASE_MS // 2
    right = right_to_lease(holder)
    assert holder.due() is None
    holder.mint()
    clock.now_ms += LEASE_MS // 2
    assert right_to_lease(holder) is not right  # nobody answered for a whole half of the lease


def test_an_answer_that_comes_after_the_number_was_given_up_is_not_taken(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    lease(holder, model)
    twice = holder.mint()
    clock.now_ms += LEASE_MS // 2
    right = right_to_lease(holder)
    answer = model.run(right.call)
    holder.collided(twice)
    holder.accept(right, answer)
    assert holder.node is None


def test_a_number_whose_id_was_minted_twice_is_given_up(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    lease(holder, model)
    twice = holder.mint()
    holder.collided(twice)
    with pytest.raises(NodeLeaseLapsed):
        holder.mint()
    lease(holder, model)
    assert holder.mint() > twice
    holder.collided(twice)
    assert (holder.node == twice.node) == (holder.due() is not None)


def test_a_clock_after_2093_mints_nothing_and_leaves_no_mark_behind(clock: StoppedClock, model: Model) -> None:
    holder = NodeHolder(clock=clock)
    lease(holder, model)
    before = holder.mint()
    right_ms, clock.now_ms = clock.now_ms, LAST_MS + 1
    with pytest.raises(ClockOutOfRange, match="set the clock right"):
        holder.due()
    with pytest.raises(ClockOutOfRange):
        holder.mint()
    clock.now_ms = right_ms
    assert before < holder.mint() < JobId.smallest_at(right_ms + 1)
    fixed = NodeHolder(node=3, clock=clock)
    clock.now_ms = LAST_MS + 1
    with pytest.raises(ClockOutOfRange):
        fixed.mint()
    clock.now_ms = right_ms
    assert fixed.mint().minted_at_ms == right_ms


def test_threads_that_ask_at_once_get_one_right_to_lease() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            holder = NodeHolder()
            got: list[object] = []
            threads = [
                threading.Thread(target=lambda got=got, holder=holder: got.append(holder.due())) for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sum(isinstance(due, Lease) for due in got) == 1
    finally:
        sys.setswitchinterval(interval)


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with valkey_server() as started:
        yield started


MINT = """
import sys
from echomq import EchoMQ
url, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with EchoMQ(url) as app, open(path, "wb") as out:
    jobs = app.blocking_jobs("mint")
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(count):
        out.write(jobs.mint())
"""


def test_forty_processes_mint_a_million_ids_without_one_collision(server: RealServer, tmp_path: Path) -> None:
    processes, count = 40, 25_000
    running = [
        subprocess.Popen(
            [sys.executable, "-c", MINT, server.url, str(count), str(tmp_path / f"{n}.ids")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for n in range(processes)
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        for process in running:  # they all wait here, so that they mint at the same instant
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
        for process in running:
            process.communicate(timeout=120)
            assert process.returncode == 0
    finally:
        for process in running:
            process.kill()
            process.wait()
    ids: set[bytes] = set()
    nodes: set[int] = set()
    for n in range(processes):
        raw = (tmp_path / f"{n}.ids").read_bytes()
        minted = [raw[at : at + 14] for at in range(0, len(raw), 14)]
        assert len(minted) == count
        assert minted == sorted(minted)
        nodes.add(JobId.parse(minted[0]).node)
        ids.update(minted)
    assert len(ids) == processes * count
    assert len(nodes) == processes


FORK = """
import os, sys
from echomq import EchoMQ
with EchoMQ(sys.argv[1]) as app:
    jobs = app.blocking_jobs("fork")
    parent = [jobs.mint() for _ in range(100)]
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, b"".join(jobs.mint() for _ in range(100)))
        os._exit(0)
    parent += [jobs.mint() for _ in range(100)]
    os.wait()
    raw = os.read(read, 1400)
    child = [raw[at:at + 14] for at in range(0, 1400, 14)]
    assert len(set(parent) | set(child)) == 300, "a child minted its parent's ids"
"""


def test_a_forked_child_leases_a_number_of_its_own(server: RealServer) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, server.url], check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


FORK_WHILE_MINTING = """
import os, signal, sys, threading
from echomq import EchoMQ
with EchoMQ(sys.argv[1]) as app:
    jobs = app.blocking_jobs("fork")
    stop = threading.Event()
    def busy():
        while not stop.is_set():
            jobs.mint()
    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads: thread.start()
    jobs.mint()
    for _ in range(60):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)  # a child that hangs is killed and seen by its status
            jobs.mint()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0, "a forked child hung or failed"
    stop.set()
    for thread in threads: thread.join()
"""


def test_a_child_forked_while_other_threads_mint_does_not_hang(server: RealServer) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK_WHILE_MINTING, server.url]
    done = subprocess.run(command, check=False, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()


def test_many_first_mints_at_once_lease_one_number() -> None:
    with valkey_server() as fresh:

        async def crowd() -> None:
            async with EchoMQ(fresh.url) as app:
                await asyncio.gather(*(app.jobs("q").enqueue(b"x") for _ in range(1500)))

        asyncio.run(crowd())
        with EchoMQ(fresh.url) as app:
            jobs = app.blocking_jobs("q")
            threads = [threading.Thread(target=jobs.mint) for _ in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert jobs.counts()["pending"] == 1500
        assert fresh.ask("ZCARD", "{emq}:nodes") == b":2\r\n"


def test_no_job_is_lost_when_the_server_loses_its_node_leases() -> None:
    """FLUSHALL between two producers, both of which go on as if nothing had happened (W1)."""
    with valkey_server() as forgetful, EchoMQ(forgetful.url) as first, EchoMQ(forgetful.url) as second:
        first.blocking_jobs("q").mint()
        forgetful.ask("FLUSHALL")
        # The second is given the very number that the first goes on minting with.
        held = first._nodes.node
        assert held is not None
        second._nodes._held._wish = held
        one, other = first.blocking_jobs("q"), second.blocking_jobs("q")
        answers: list[object] = []
        for _ in range(40):
            answers += one.enqueue_many([b"x"] * 50)
            answers += other.enqueue_many([b"x"] * 50)
            answers += [one.enqueue(b"x"), other.enqueue(b"x"), one.enqueue_in(b"x", delay_ms=60_000)]
        assert {type(answer) for answer in answers} == {Enqueued, Scheduled}
        assert len(answers) == one.counts()["pending"] + one.counts()["schedule"]


def test_jobs_mints_over_the_model_as_over_a_server(model: Model) -> None:
    class OverModel:
        run = staticmethod(model.run)
        wait = staticmethod(lambda future: future.result(0))

        @staticmethod
        def run_all(calls: object) -> list[object]:
            raise AssertionError(calls)

    jobs = BlockingJobs("q", OverModel(), NodeHolder(), payload_bytes_max=PAYLOAD_BYTES_MAX)  # type: ignore[arg-type]  # a stand-in
    assert jobs.mint() < jobs.mint()
