"""Asks what the worker costs beside the bare calls.

One private server. The baseline claims batches of the same size and completes them, with nothing between. Then a worker
runs handlers that do nothing, or wait for a millisecond, over as many jobs. Rounds alternate, medians count. Where a
machine is shared, the processor time for a job, here and on the server, says more than the rate. Run:

    python bench/worker.py [--json] [--rounds N] [--jobs N]

`--json` prints the ratio to the bare calls, the scripts and the processor times of a job of each kind as one JSON
object, the last line.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq import EchoMQ
from echomq.jobs import Jobs
from echomq.records import ClaimedMany, Completion
from echomq.worker import Handler, Run, Worker, WorkerOptions
from tests.servers import RealServer, valkey_server

SLOTS = 100


def main() -> None:
    """Print jobs per second, scripts and processor time per job, and the ratio to the bare calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object at the end")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=20_000)
    options = parser.parse_args()
    with valkey_server() as server:
        figures = asyncio.run(_compare(server, options.rounds, options.jobs))
    baseline = figures["bare"].rate
    for name, cost in figures.items():
        print(
            f"{name:9} {cost.rate:9,.0f} jobs/s   {cost.scripts:6.3f} scripts, {cost.client_us:4.0f} us here, "
            f"{cost.server_us:4.0f} us there for a job   ratio {cost.rate / baseline:.2f}"
        )
    if options.json:
        rows = {
            name.replace(" ", "_"): {
                "ratio": round(cost.rate / baseline, 3),
                "scripts_per_job": round(cost.scripts, 3),
                "client_us": round(cost.client_us, 1),
                "server_us": round(cost.server_us, 1),
            }
            for name, cost in figures.items()
        }
        print(json.dumps(rows))


class Cost(NamedTuple):
    """Jobs a second, and what one job costs."""

    rate: float
    scripts: float
    client_us: float
    server_us: float


async def _compare(server: RealServer, rounds: int, total: int) -> dict[str, Cost]:
    """Return the medians, by kind."""
    figures: dict[str, list[Cost]] = {}
    async with EchoMQ(server.url) as app:
        for number in range(rounds):
            for name, (handler, slots) in KINDS.items():
                jobs = app.jobs(f"bench.{number}.{name.replace(' ', '-')}")
                count = total if slots > 1 and name != "1 ms" else total // 4
                await jobs.enqueue_many([b"x" * 100] * count)
                before = _spent(server)
                await (_bare(jobs, slots) if handler is None else _work(app, jobs.queue, handler, slots, count))
                seconds, scripts, here_s, there_s = (b - a for a, b in zip(before, _spent(server), strict=True))
                cost = Cost(count / seconds, scripts / count, here_s * 1e6 / count, there_s * 1e6 / count)
                figures.setdefault(name, []).append(cost)
    return {
        name: Cost(*(statistics.median(column) for column in zip(*rows, strict=True))) for name, rows in figures.items()
    }


async def _bare(jobs: Jobs, slots: int) -> None:
    while True:
        answer = await jobs.claim_many(lease_ms=30_000, size=slots)
        assert isinstance(answer, ClaimedMany)
        if not answer.jobs:
            return
        await jobs.complete_many([Completion(claimed.job, claimed.token) for claimed in answer.jobs])


async def _work(
    app: EchoMQ, queue: str, make: "Callable[[Callable[[], None]], Handler]", slots: int, count: int
) -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    left = count

    def one_done() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            loop.call_soon_threadsafe(done.set)

    worker = Worker(app, queue, make(one_done), options=WorkerOptions(concurrency=slots))
    task = asyncio.ensure_future(worker.run())
    await done.wait()
    worker.stop()
    await task
    assert worker.counts.completed == count


def _coroutine(one_done: Callable[[], None]) -> Handler:
    async def handler(run: Run) -> None:
        one_done()

    return handler


def _waiting(one_done: Callable[[], None]) -> Handler:
    async def handler(run: Run) -> None:
        await asyncio.sleep(0.001)
        one_done()

    return handler


def _function(one_done: Callable[[], None]) -> Handler:
    def handler(run: Run) -> None:
        one_done()

    return handler


def _spent(server: RealServer) -> tuple[float, float, float, float]:
    """Return the time, the scripts called so far, and the processor seconds that we and the server have used."""
    text = server.ask("INFO", "commandstats", "cpu").decode()
    rows = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
    scripts = int(rows.get("cmdstat_evalsha", "calls=0").split(",")[0].removeprefix("calls="))
    there_s = float(rows["used_cpu_sys"]) + float(rows["used_cpu_user"])
    return time.perf_counter(), scripts, time.process_time(), there_s


KINDS: "dict[str, tuple[Callable[[Callable[[], None]], Handler] | None, int]]" = {
    "bare": (None, SLOTS),
    "coroutine": (_coroutine, SLOTS),
    "1 ms": (_waiting, SLOTS),
    "function": (_function, SLOTS),
    "one slot": (_coroutine, 1),
}


if __name__ == "__main__":
    main()
