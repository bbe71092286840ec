"""Asks how soon a job starts that arrives at an idle worker, and what idle workers cost.

One private server on a unix socket. A producer with a connection of its own enqueues one job at a time, always when the
worker is parked; the time runs from the call to the first line of the handler. Then idle workers are left alone for
some beats, and the server tells (MONITOR) how many commands they sent, all connections and the lease threads included.

    python bench/waking.py [--json] [--samples N] [--beats N] [--workers N]

`--json` prints the figures as one JSON object, the last line.
"""

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq import EchoMQ
from echomq.worker import Run, Worker, WorkerOptions
from tests.servers import RealServer, valkey_server

WARM_UP = 100
BEAT_MS = 100


def main() -> None:
    """Print the percentiles and the cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object at the end")
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--beats", type=int, default=30)
    parser.add_argument("--workers", type=int, default=5)
    options = parser.parse_args()
    figures: dict[str, float] = {}
    with valkey_server() as server:
        for kind, lane in (("flat", None), ("lane", "a")):
            waits_ms = asyncio.run(_waits_ms(server, lane, options.samples))
            figures[f"{kind}_p50_ms"], figures[f"{kind}_p99_ms"] = _percentiles(waits_ms)
            print(f"{kind:5} p50 {figures[f'{kind}_p50_ms']:6.3f} ms   p99 {figures[f'{kind}_p99_ms']:6.3f} ms")
        cost = asyncio.run(_idle_cost(server, options.workers, options.beats))
        figures["idle_commands_per_beat_and_worker"] = round(cost, 3)
        print(f"idle  {cost:.2f} commands per beat and worker, {options.workers} workers")
    if options.json:
        print(json.dumps(figures))


def _percentiles(waits_ms: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(waits_ms, n=100)
    return round(cuts[49], 3), round(cuts[98], 3)


async def _waits_ms(server: RealServer, lane: str | None, samples: int) -> list[float]:
    """Return how long each job waited for its handler, without those of the warm-up."""
    queue, waits_ms, called_s = f"bench.{lane}", [], 0.0
    started = asyncio.Event()

    async def handler(run: Run) -> None:
        waits_ms.append((time.perf_counter() - called_s) * 1000)
        started.set()

    async with EchoMQ(server.url) as producer, EchoMQ(server.url) as consumer:
        jobs = producer.jobs(queue)
        async with _serving(Worker(consumer, queue, handler)):
            for _ in range(WARM_UP + samples):
                await _until_parked(server, 1)
                await asyncio.sleep(random.uniform(0.0, 0.002))
                started.clear()
                called_s = time.perf_counter()
                await jobs.enqueue(b"x" * 100, lane=lane)
                await started.wait()
    return waits_ms[WARM_UP:]


async def _until_parked(server: RealServer, workers: int) -> None:
    while f"blocked_clients:{workers}\r\n".encode() not in server.ask("INFO", "clients"):  # noqa: ASYNC110 - no signal
        await asyncio.sleep(0.0005)


async def _idle_cost(server: RealServer, workers: int, beats: int) -> float:
    """Return how many commands an idle worker sends in a beat."""

    async def handler(run: Run) -> None: ...

    async with contextlib.AsyncExitStack() as stack:
        for _ in range(workers):
            app = await stack.enter_async_context(EchoMQ(server.url))
            await stack.enter_async_context(
                _serving(Worker(app, "bench.idle", handler, options=WorkerOptions(beat_ms=BEAT_MS)))
            )
        await _until_parked(server, workers)
        began_s = time.perf_counter()
        sent = await _commands(server, beats * BEAT_MS / 1000)
        return sent / ((time.perf_counter() - began_s) * 1000 / BEAT_MS) / workers


async def _commands(server: RealServer, seconds: float) -> int:
    """Return how many commands clients send meanwhile; what scripts call does not count."""
    reader, writer = await asyncio.open_unix_connection(server.unix_path)
    writer.write(b"MONITOR\r\n")
    await reader.readline()
    count = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while line := await reader.readline():
                count += b" lua]" not in line
    writer.close()
    await writer.wait_closed()
    return count


@contextlib.asynccontextmanager
async def _serving(worker: Worker) -> AsyncIterator[None]:
    task = asyncio.ensure_future(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


if __name__ == "__main__":
    main()
