"""Worker processes on a real server, two of them killed in the middle: what is fair stays so, and nothing is lost."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from echomq import EchoMQ
from echomq.keys import QueueKeys
from echomq.records import Enqueued
from tests.fairness.figures import worst_jain
from tests.fairness.observer import Observer
from tests.fairness.program import STARTS
from tests.harness.wire import Wire
from tests.servers import RealServer, built_module, valkey_server

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0  # only a test that fails waits so long
OPTIONS = {"lease_ms": 2_000, "reap_every_ms": 100, "beat_ms": 200, "concurrency": 10, "max_attempts": 100}
LEAST = 180
BACKLOGS = {"tenant-0": 1_500, **{f"tenant-{number}": LEAST for number in range(1, 10)}}
LIMITS = {"one": 1, "three": 3}
CEILING = 24


@pytest.fixture(params=["scripts", "module"])
def server(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    module = built_module() if request.param == "module" else None
    if request.param == "module" and module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server(*(("--loadmodule", module) if module else ())) as started:
        yield started


def test_killed_workers_disturb_neither_limits_nor_fairness_and_lose_nothing(
    server: RealServer, keys: QueueKeys
) -> None:
    ids = fill(server, keys.queue)
    with contextlib.ExitStack() as stack:
        wire = stack.enter_context(Wire(server.unix_path))
        observer = Observer(server.unix_path, keys)
        stack.callback(observer.close)
        doomed = [stack.enter_context(worker(server, keys.queue)) for _ in range(2)]
        stack.enter_context(worker(server, keys.queue))
        watch(observer, lambda: number(wire, b"LLEN", STARTS) >= 300)
        doomed[0].kill()
        watch(observer, lambda: number(wire, b"LLEN", STARTS) >= 900)
        doomed[1].kill()
        stack.enter_context(worker(server, keys.queue))
        watch(observer, lambda: number(wire, b"HGET", keys.metrics_completed, b"count") >= len(ids))
        started = [
            tuple(entry.decode().split(" ")) for entry in cast("list[bytes]", wire.ask(b"LRANGE", STARTS, 0, -1))
        ]
        assert number(wire, b"HGET", keys.metrics_completed, b"count") == len(ids)
        assert number(wire, b"ZCARD", keys.active) == 0
    assert {job for _, job, _ in started} == ids, "jobs were lost"
    assert any(int(attempt) > 1 for _, _, attempt in started), "nobody was killed with a job in hand"
    assert {lane: observer.most[lane] for lane in LIMITS} == LIMITS, "a limit was never reached"
    tenants = [lane for lane, _, _ in started if lane in BACKLOGS][: 9 * LEAST]
    assert worst_jain(tenants, list(BACKLOGS), window=500) >= 0.99


def fill(server: RealServer, queue: str) -> set[str]:
    """Let jobs wait in all lanes, set the limits and the ceiling, and return the ids."""
    answers: list[object] = []
    with EchoMQ(server.url) as app:
        jobs, lanes = app.blocking_jobs(queue), app.blocking_lanes(queue)
        jobs.set_concurrency(CEILING)
        for lane, most in LIMITS.items():
            lanes.limit(lane, most)
        for lane, count in BACKLOGS.items():
            answers += jobs.enqueue_many([b"0.001"] * count, lane=lane)
        for lane in LIMITS:
            answers += jobs.enqueue_many([b"0.01"] * 60, lane=lane)
    return {str(answer.job) for answer in answers if isinstance(answer, Enqueued)}


@contextlib.contextmanager
def worker(server: RealServer, queue: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a worker in a process of its own. It is killed at the end at the latest."""
    command = [sys.executable, "-m", "tests.fairness.program", server.url, server.unix_path, queue, json.dumps(OPTIONS)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def watch(observer: Observer, until: Callable[[], bool]) -> None:
    """Look again and again until the condition holds. The observer waits for nothing: it looks at every instant."""
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        for _ in range(20):
            observer.look()
        assert time.monotonic() < deadline, f"it does not come to pass; in flight were at most {observer.most}"


def number(wire: Wire, *command: bytes) -> int:
    return int(cast("bytes | int | None", wire.ask(*command)) or 0)
