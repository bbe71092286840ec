"""A worker process for tests: ``python -m tests.faults.worker.program URL QUEUE OPTIONS``.

The payload of a job says what its handler does. Each start and end is a line on standard output, written at once.
"""

import asyncio
import dataclasses
import json
import os
import signal
import sys
import time

from echomq import EchoMQ
from echomq.worker import Run, Worker, WorkerOptions, run_until_signal


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


async def handle(run: Run) -> bytes | None:
    what, _, value = (run.payload or b"").decode().partition(" ")
    if what == "quiet":
        return None
    say(f"start {run.job} {run.attempt}")
    try:
        await act(what, value, run)
    except asyncio.CancelledError:
        say(f"cancelled {run.job} {run.attempt}")
        raise
    say(f"end {run.job} {run.attempt}")
    return b"done by %d" % os.getpid()


async def act(what: str, value: str, run: Run) -> None:
    match what:
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "interrupt":
            raise KeyboardInterrupt
        case "storm":
            for _ in range(int(value)):
                os.kill(os.getpid(), signal.SIGTERM)
        case "block":
            time.sleep(float(value))  # noqa: ASYNC251 - the misdeed under test
        case "first-waits" if run.attempt == 1:
            await asyncio.Event().wait()
        case "sleep":
            await asyncio.sleep(float(value))
        case _:
            pass


async def main(url: str, queue: str, options: dict[str, int]) -> None:
    handles_signals = not options.pop("plain_run", 0)
    if handles_signals:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what comes when the worker has ended changes nothing any more
    async with EchoMQ(url) as app:
        worker = Worker(app, queue, handle, options=WorkerOptions(**options))  # type: ignore[arg-type]  # whole numbers
        asyncio.get_running_loop().call_soon(say, "ready")
        report = await (run_until_signal(worker) if handles_signals else worker.run())
        say("report " + json.dumps({name: list(map(str, ids)) for name, ids in dataclasses.asdict(report).items()}))
        say("counts " + json.dumps(dataclasses.asdict(worker.counts)))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with it ignored
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
