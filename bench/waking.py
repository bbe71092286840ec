"""Asks how soon a job starts that arrives at an idle worker, and what idle workers cost.

One private server on a unix socket for each carrier: without the module (lua), and with it. A producer with a
connection of its own enqueues one job at a time, always when the worker waits; the time runs from the call to the first
line of the handler. Then idle workers are left alone for some beats, and the server tells (MONITOR) how many commands
they sent, all connections and the lease threads included. Then a stream: producers and one worker share one loop, each
producer enqueues the next job as soon as the last one is enqueued (1 and 20 producers), or run (the chain: its producer
waits for the handler of each).

    python bench/waking.py [--json] [--samples N] [--beats N] [--workers N] [--stream N] [--slots N] [--carrier NAME]

`--json` prints the figures of each carrier, and the load of the machine then, as one JSON object, the last line.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq import EchoMQ
from echomq.worker import Run, Worker, WorkerOptions
from tests.servers import RealServer, built_module, valkey_server

# Name, producers, and whether each waits for its job to run before it enqueues the next.
STREAMS = [("stream", 1, False), ("stream 20", 20, False), ("chain", 1, True), ("chain 20", 20, True)]

CARRIERS = ("lua", "module")

WARM_UP = 100
BEAT_MS = 100


def main() -> None:
    """Print the percentiles and the cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object at the end")
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--beats", type=int, default=30)
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--stream", type=int, default=20_000, help="jobs of a stream; 0: none")
    parser.add_argument("--slots", type=int, default=100, help="slots of the worker of a stream")
    parser.add_argument("--carrier", action="append", choices=CARRIERS, help="only this one; may be repeated")
    options = parser.parse_args()
    figures = {carrier: _figures(carrier, options) for carrier in options.carrier or CARRIERS}
    if options.json:
        print(json.dumps(figures))


def _figures(carrier: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the figures of one carrier, and print them."""
    figures: dict[str, float] = {}
    with valkey_server(*_arguments(carrier)) as server:
        print(f"{carrier}, load of the machine {os.getloadavg()[0]:.2f}")
        for kind, lane in (("flat", None), ("lane", "a")):
            waits_ms = asyncio.run(_waits_ms(server, lane, options.samples))
            figures[f"{kind}_p50_ms"], figures[f"{kind}_p99_ms"] = _percentiles(waits_ms)
            print(f"  {kind:9} p50 {figures[f'{kind}_p50_ms']:6.3f} ms   p99 {figures[f'{kind}_p99_ms']:6.3f} ms")
        cost = asyncio.run(_idle_cost(server, options.workers, options.beats))
        figures["idle_commands_per_beat_and_worker"] = round(cost, 3)
        print(f"  idle      {cost:.2f} commands per beat and worker, {options.workers} workers")
        for kind, producers, waits in STREAMS if options.stream else ():
            total = options.stream // 4 if waits else options.stream
            stream = asyncio.run(_stream(server, producers, waits=waits, slots=options.slots, total=total))
            print(f"  {kind:9} {stream}")
            figures |= stream.figures(kind.replace(" ", "_"))
    figures["load"] = os.getloadavg()[0]
    return figures


def _arguments(carrier: str) -> tuple[str, ...]:
    if carrier == "lua":
        return ()
    module = built_module()
    if module is None:
        raise SystemExit("no C compiler, so there is no module: use --carrier lua")
    return ("--loadmodule", module)


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


@dataclass(frozen=True)
class Stream:
    """What one stream cost, each figure for one job but the rate."""

    rate: float
    commands: float
    client_us: float
    server_us: float
    p50_ms: float
    p99_ms: float

    def __str__(self) -> str:
        return (
            f"{self.rate:6,.0f} jobs/s   {self.commands:5.2f} commands, {self.client_us:4.0f} us here, "
            f"{self.server_us:4.0f} us there for a job   started after p50 {self.p50_ms:6.3f} p99 {self.p99_ms:6.3f} ms"
        )

    def figures(self, kind: str) -> dict[str, float]:
        """Return all of it, each under the name of its kind."""
        return {f"{kind}_{name}": round(value, 3) for name, value in asdict(self).items()}


async def _stream(server: RealServer, producers: int, *, waits: bool, slots: int, total: int) -> Stream:
    """Return what it costs to enqueue `total` jobs and to run them, by one process over two clients of one loop."""
    counted = total // 10
    async with _serving_stream(server, producers, waits=waits, slots=slots) as produce:
        before, began_s = _costs(server), time.perf_counter()
        waits_ms = await produce(total)
        seconds, after = time.perf_counter() - began_s, _costs(server)
        async with _heard(server) as commands:
            await produce(counted)
    client_s, server_s = (late - early for early, late in zip(before, after, strict=True))
    p50_ms, p99_ms = _percentiles(waits_ms)
    cost = len(commands) / counted
    return Stream(total / seconds, cost, client_s * 1e6 / total, server_s * 1e6 / total, p50_ms, p99_ms)


@contextlib.asynccontextmanager
async def _serving_stream(
    server: RealServer, producers: int, *, waits: bool, slots: int
) -> AsyncIterator[Callable[[int], Awaitable[list[float]]]]:
    """Give what enqueues so many jobs, and returns how long each waited for its handler when all have run."""
    queue, loop = f"bench.stream.{producers}.{waits}", asyncio.get_running_loop()
    called_s: dict[bytes, float] = {}
    ran: dict[bytes, asyncio.Future[None]] = {}
    waits_ms: list[float] = []
    all_done = asyncio.Event()

    async def handler(run: Run) -> None:
        name = run.payload or b""
        waits_ms.append((time.perf_counter() - called_s.pop(name)) * 1000)
        if (waiter := ran.pop(name, None)) is not None:
            waiter.set_result(None)
        if not called_s:
            all_done.set()

    async with EchoMQ(server.url) as producer, EchoMQ(server.url) as consumer:
        jobs = producer.jobs(queue)

        async def produce_from(names: Iterator[int]) -> None:
            for number in names:  # all producers draw from one
                name = b"%100d" % number
                called_s[name] = time.perf_counter()
                if waits:
                    ran[name] = waiter = loop.create_future()
                    await jobs.enqueue(name)
                    await waiter
                else:
                    await jobs.enqueue(name)

        async def produce(total: int) -> list[float]:
            waits_ms.clear()
            names = iter(range(total))
            await asyncio.gather(*[produce_from(names) for _ in range(producers)])
            while len(waits_ms) < total:
                all_done.clear()
                await all_done.wait()
            return waits_ms[:]

        async with _serving(Worker(consumer, queue, handler, options=WorkerOptions(concurrency=slots))):
            await _until_parked(server, 1)
            yield produce


def _costs(server: RealServer) -> tuple[float, float]:
    """Return the seconds of processor that we and the server used."""
    text = server.ask("INFO", "cpu").decode()
    rows = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
    return time.process_time(), float(rows["used_cpu_sys"]) + float(rows["used_cpu_user"])


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
        async with _heard(server) as commands:
            await asyncio.sleep(beats * BEAT_MS / 1000)
        return len(commands) / ((time.perf_counter() - began_s) * 1000 / BEAT_MS) / workers


@contextlib.asynccontextmanager
async def _heard(server: RealServer) -> AsyncIterator[list[bytes]]:
    """Give the commands that clients send while the block runs, at its end; what scripts call does not count.

    The server's own counts are no use here: it counts a command twice that waited and was served.
    """
    commands: list[bytes] = []
    reader, writer = await asyncio.open_unix_connection(server.unix_path)
    writer.write(b"MONITOR\r\n")
    await reader.readline()
    yield commands
    server.ask("ECHO", "the end")
    while b'"ECHO" "the end"' not in (line := await reader.readline()):
        if b" lua]" not in line:
            commands.append(line)
    writer.close()
    await writer.wait_closed()


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
