"""Asks what the worker costs beside the bare calls.

One private server. The baseline claims batches of the same size and completes them, with nothing between. Then a worker
runs handlers that do nothing, or wait for a millisecond, over as many jobs. Rounds alternate, medians count. Run:

    python bench/worker.py [--json] [--rounds N] [--jobs N]

`--json` prints the ratio to the bare calls and the scripts a job of each kind as one JSON object, the last line.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq import EchoMQ
from echomq.jobs import Jobs
from echomq.records import ClaimedMany, Completion
from echomq.worker import Handler, Run, Worker, WorkerOptions
from tests.servers import RealServer, valkey_server

SLOTS = 100


def main() -> None:
    """Print jobs per second, scripts per job, and the ratio to the bare calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object at the end")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=20_000)
    options = parser.parse_args()
    with valkey_server() as server:
        figures = asyncio.run(_compare(server, options.rounds, options.jobs))
    baseline = figures["bare"][0]
    for name, (rate, scripts_per_job) in figures.items():
        print(f"{name:9} {rate:9,.0f} jobs/s   {scripts_per_job:6.3f} scripts/job   ratio {rate / baseline:.2f}")
    if options.json:
        rows = {
            name.replace(" ", "_"): {"ratio": round(rate / baseline, 3), "scripts_per_job": round(scripts_per_job, 3)}
            for name, (rate, scripts_per_job) in figures.items()
        }
        print(json.dumps(rows))


async def _compare(server: RealServer, rounds: int, total: int) -> dict[str, tuple[float, float]]:
    """Return the medians of jobs a second and scripts a job, by kind."""
    figures: dict[str, list[tuple[float, float]]] = {}
    async with EchoMQ(server.url) as app:
        for number in range(rounds):
            for name, (handler, slots) in KINDS.items():
                jobs = app.jobs(f"bench.{number}.{name.replace(' ', '-')}")
                count = total if slots > 1 and name != "1 ms" else total // 4
                await jobs.enqueue_many([b"x" * 100] * count)
                scripts, began_s = _scripts(server), time.perf_counter()
                await (_bare(jobs, slots) if handler is None else _work(app, jobs.queue, handler, slots, count))
                seconds = time.perf_counter() - began_s
                figures.setdefault(name, []).append((count / seconds, (_scripts(server) - scripts) / count))
    return {
        name: (statistics.median(rate for rate, _ in rows), statistics.median(scripts for _, scripts in rows))
        for name, rows in figures.items()
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


def _scripts(server: RealServer) -> int:
    text = server.ask("INFO", "commandstats").decode()
    _, _, rest = text.partition("cmdstat_evalsha:calls=")
    return int(rest.partition(",")[0] or 0)


KINDS: "dict[str, tuple[Callable[[Callable[[], None]], Handler] | None, int]]" = {
    "bare": (None, SLOTS),
    "coroutine": (_coroutine, SLOTS),
    "1 ms": (_waiting, SLOTS),
    "function": (_function, SLOTS),
    "one slot": (_coroutine, 1),
}


if __name__ == "__main__":
    main()
