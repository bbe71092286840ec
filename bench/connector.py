"""Compares our clients with valkey-py at the same EVALSHA.

Rounds of the two clients alternate, and the ratio is the median of those of the pairs, so a machine that gets slower
for a while slows both.

- asyncio: 512 tasks, each awaiting one enqueue after the other. Client and server share one core, so the ratio is one
  of work done, whatever else the other cores do.
- blocking: one thread, one enqueue after the other. The server has a core of its own: waiting for it is the point.

valkey-py sends the very same script with the same keys and arguments, by `evalsha`, as it comes: with its own parser,
or with its C parser where `libvalkey` is installed as well; the first line says which. Run:

    python bench/connector.py [--json] [--rounds N] [--calls N]
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import cast

import valkey
import valkey.asyncio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq.drivers.aio import AioClient
from echomq.drivers.blocking import BlockingClient
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.transitions._bodies import body_of
from echomq.transitions.enqueue import TRANSITION, enqueue
from tests.servers import RealServer, valkey_server

TASKS = 512
PAYLOAD = b"x" * 100
KEYS = QueueKeys("bench")
SHA1 = body_of(TRANSITION).sha1.decode()


@dataclass(frozen=True)
class Figure:
    """Medians of both rates, in calls a second, and the median of the ratios of the pairs."""

    ours: float
    theirs: float
    ratio: float

    @classmethod
    def of(cls, ours: list[float], theirs: list[float]) -> "Figure":
        """Sum up the pairs of one comparison."""
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        return cls(statistics.median(ours), statistics.median(theirs), statistics.median(ratios))


def main() -> None:
    """Print the medians and their ratios."""
    options = _options()
    _pin_client()
    with valkey_server() as server:
        _pin_server(server, _cores()[0])
        figures = {"async": asyncio.run(_compare_async(server, options.rounds, options.calls))}
        _pin_server(server, _cores()[-1])
        figures["blocking"] = _compare_blocking(server, options.rounds * 8, options.calls // 32)
        _pin_server(server, _cores()[0])
        with_uvloop = _with_uvloop(server, options.rounds, options.calls)
    print(f"valkey-py {valkey.__version__} with {'libvalkey' if find_spec('libvalkey') else 'its own parser'}")
    for name, figure in figures.items():
        print(f"{name:9} ours {figure.ours:9,.0f}/s   valkey-py {figure.theirs:9,.0f}/s   ratio {figure.ratio:.2f}")
    if with_uvloop is not None:
        print(f"async, uvloop: ours {with_uvloop:9,.0f}/s")
    if options.json:
        print(json.dumps({f"ratio_{name}": round(figure.ratio, 3) for name, figure in figures.items()}))


async def _compare_async(server: RealServer, rounds: int, calls: int) -> Figure:
    ids = _ids()
    async with await AioClient.connect(ConnectionOptions(url=server.url)) as client:
        theirs = valkey.asyncio.Valkey(unix_socket_path=server.unix_path)
        await theirs.script_load(body_of(TRANSITION).text)

        async def our_call() -> object:
            return await client.run(enqueue(KEYS, next(ids), PAYLOAD))

        async def their_call() -> object:
            job = next(ids)
            reply = theirs.evalsha(SHA1, 2, *cast("tuple[str, ...]", (KEYS.job(job), KEYS.pending, job, PAYLOAD)))
            return await cast("Awaitable[object]", reply)

        ours_rates, theirs_rates = [], []
        for _ in range(rounds):
            ours_rates.append(await _rate(our_call, calls))
            theirs_rates.append(await _rate(their_call, calls // 4))
            await client.command("FLUSHDB")
        await theirs.aclose(close_connection_pool=True)
    return Figure.of(ours_rates, theirs_rates)


async def _rate(call: Callable[[], Awaitable[object]], calls: int) -> float:
    each = calls // TASKS

    async def many() -> None:
        for _ in range(each):
            await call()

    begin = time.perf_counter()
    await asyncio.gather(*(many() for _ in range(TASKS)))
    return each * TASKS / (time.perf_counter() - begin)


def _compare_blocking(server: RealServer, rounds: int, calls: int) -> Figure:
    ids = _ids()
    theirs = valkey.Valkey(unix_socket_path=server.unix_path)
    ours_rates, theirs_rates = [], []
    with BlockingClient.connect(ConnectionOptions(url=server.url)) as client:
        theirs.script_load(body_of(TRANSITION).text)
        for _ in range(rounds):
            begin = time.perf_counter()
            for _ in range(calls):
                client.run(enqueue(KEYS, next(ids), PAYLOAD))
            between = time.perf_counter()
            for _ in range(calls):
                job = next(ids)
                theirs.evalsha(SHA1, 2, *cast("tuple[str, ...]", (KEYS.job(job), KEYS.pending, job, PAYLOAD)))
            end = time.perf_counter()
            ours_rates.append(calls / (between - begin))
            theirs_rates.append(calls / (end - between))
            client.command("FLUSHDB")
    theirs.close()  # type: ignore[no-untyped-call]  # it has no annotations
    return Figure.of(ours_rates, theirs_rates)


def _with_uvloop(server: RealServer, rounds: int, calls: int) -> float | None:
    try:
        import uvloop  # noqa: PLC0415 - a further line where it is installed
    except ImportError:
        return None

    async def alone() -> float:
        ids = _ids()
        async with await AioClient.connect(ConnectionOptions(url=server.url)) as client:

            async def call() -> object:
                return await client.run(enqueue(KEYS, next(ids), PAYLOAD))

            return statistics.median([await _rate(call, calls) for _ in range(rounds)])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(alone())


def _ids() -> Iterator[JobId]:
    numbers = count(time.time_ns() // 1_000_000 << 8)
    return (JobId.of_snowflake(number) for number in numbers)


def _pin_client() -> None:
    os.sched_setaffinity(0, {_cores()[0]})


def _pin_server(server: RealServer, core: int) -> None:
    os.sched_setaffinity(server.pid, {core})
    for task in Path(f"/proc/{server.pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {core})


def _cores() -> list[int]:
    return sorted(os.sched_getaffinity(os.getppid()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the ratios as one JSON object at the end")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=TASKS * 80)
    return parser.parse_args()


if __name__ == "__main__":
    main()
