"""Memory follows what is live (cases 41 and 43): neither the server nor a long-lived program grows with what ended."""

import gc
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from echomq import BlockingJobs, ClaimedMany, Completed, Completion, EchoMQ, Finished
from tests.servers import RealServer, valkey_server

JOBS = 2_000
KEPT_MS = 600_000


@pytest.fixture
def server() -> Iterator[RealServer]:
    with valkey_server() as started:
        yield started


def a_round(jobs: BlockingJobs, *, result_ttl_ms: int | None = None) -> None:
    """Admit, claim, log, complete and, where results are kept for long, read them."""
    ids = [answer.job for answer in jobs.enqueue_many([b"payload"] * JOBS)]
    while isinstance(claimed := jobs.claim_many(lease_ms=60_000, size=500), ClaimedMany) and claimed.jobs:
        jobs.add_log(claimed.jobs[0].job, b"begun", token=claimed.jobs[0].token)
        done = [Completion(each.job, each.token, b"result", result_ttl_ms) for each in claimed.jobs]
        assert {type(answer) for answer in jobs.complete_many(done)} == {Completed}
    if result_ttl_ms == KEPT_MS:
        assert {type(answer) for answer in jobs.get_results(ids)} == {Finished}


def keys_of(server: RealServer) -> int:
    return int(server.ask("DBSIZE").lstrip(b":"))


def test_completed_jobs_leave_nothing_on_the_server(server: RealServer) -> None:
    with EchoMQ(server.url) as app:
        jobs = app.blocking_jobs("q")
        a_round(jobs)
        after_one = keys_of(server)
        for _ in range(3):
            a_round(jobs)
        assert keys_of(server) == after_one


def test_kept_results_go_when_their_time_is_over(server: RealServer) -> None:
    with EchoMQ(server.url) as app:
        jobs = app.blocking_jobs("q")
        a_round(jobs)
        without = keys_of(server)
        a_round(jobs, result_ttl_ms=500)
        deadline = time.monotonic() + 30
        while keys_of(server) > without:
            assert time.monotonic() < deadline
            time.sleep(0.05)  # the server expires keys in its own time and tells nobody


def test_a_long_lived_program_does_not_grow(server: RealServer) -> None:
    with EchoMQ(server.url) as app:
        jobs = app.blocking_jobs("q")
        tracemalloc.start()
        try:
            for _ in range(2):
                a_round(jobs, result_ttl_ms=KEPT_MS)
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(3):
                a_round(jobs, result_ttl_ms=KEPT_MS)
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert after - before < 64 * 1024  # six thousand jobs; a hundred bytes for each would be ten times that
