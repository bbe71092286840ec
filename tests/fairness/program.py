"""A worker process of the fairness tests: ``python -m tests.fairness.program URL UNIX_PATH QUEUE OPTIONS``.

Each start of a job is one entry of a list on the server, ``<lane> <job> <attempt>``, so that the starts of all
processes stand in one order.
"""

import asyncio
import json
import sys

from echomq import EchoMQ
from echomq.worker import Run, Worker, WorkerOptions, run_until_signal
from tests.harness.wire import Wire

STARTS = b"tests:starts"


async def main(url: str, unix_path: str, queue: str, options: dict[str, int]) -> None:
    wire = Wire(unix_path)

    async def handle(run: Run) -> None:
        wire.ask(b"RPUSH", STARTS, f"{run.lane or ''} {run.job} {run.attempt}")
        await asyncio.sleep(float(run.payload or b"0"))

    async with EchoMQ(url) as app:
        await run_until_signal(Worker(app, queue, handle, options=WorkerOptions(**options)))  # type: ignore[arg-type]  # whole numbers
    wire.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])))
