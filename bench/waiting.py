"""Asks what an enqueue costs that wakes one of many callers which wait for the same queue.

One private server with the module, on a unix socket, and so many connections that wait: in `EMQ.TAKE … BLOCK`, or
parked on the list (`BLPOP`). Jobs are enqueued one at a time, always when all wait; the time runs from the command to
the answer of a PING after it, since the server goes through those who wait before it reads on. Told is what this
takes longer than with nobody waiting. One waits for each worker process, whatever its concurrency. The environment
variable ECHOMQ_TEST_SERVER names another server than the one of the tests.

    python bench/waiting.py [--json] [--samples N] [--most N]

`--json` prints the figures, and the load of the machine then, as one JSON object, the last line.
"""

import argparse
import json
import os
import statistics
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq.keys import QueueKeys
from tests.harness.state import job_number
from tests.harness.wire import Wire
from tests.module.waiters import Asked, Waiter, await_blocked, take_words
from tests.servers import RealServer, built_module, valkey_server

NUMBERS = (1, 10, 100, 1000)
KEYS = QueueKeys("bench")


def main() -> None:
    """Print a line for each number."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object at the end")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--most", type=int, default=NUMBERS[-1], help="how many wait at most")
    options = parser.parse_args()
    module = built_module()
    if module is None:
        raise SystemExit("no C compiler, so there is no module")
    figures: dict[str, float] = {}
    with valkey_server("--loadmodule", module) as server:
        nobody_us = _enqueue_us(server, 0, options.samples, on_list=False)
        print(f"us longer than the {nobody_us:.0f} us of an enqueue for which nobody waits; medians")
        print(f"{'who wait':>10} {'BLOCK':>10} {'on the list':>12}")
        for number in [number for number in NUMBERS if number <= options.most]:
            block, parked = (
                _enqueue_us(server, number, options.samples, on_list=on_list) - nobody_us for on_list in (False, True)
            )
            print(f"{number:10} {block:10.0f} {parked:12.0f}")
            figures |= {f"block_{number}_us": round(block, 1), f"list_{number}_us": round(parked, 1)}
    figures["load"] = os.getloadavg()[0]
    if options.json:
        print(json.dumps(figures))


def _enqueue_us(server: RealServer, number: int, samples: int, *, on_list: bool) -> float:
    """Return the median of an enqueue and a PING while so many wait."""
    with ExitStack() as stack, Wire(server.unix_path) as wire:
        waiters = [stack.enter_context(closing(Waiter(server.unix_path))) for _ in range(number)]
        for count, waiter in enumerate(waiters, 1):
            _wait(waiter, on_list=on_list)
            await_blocked(wire, count)
        spent_us = []
        for sample in range(samples):
            job = job_number(sample)
            began_s = time.perf_counter()
            wire.pipeline([("EMQ.ENQUEUE", KEYS.job(job), KEYS.pending, KEYS.wake, job, b"x" * 100)])
            wire.ask("PING")
            spent_us.append((time.perf_counter() - began_s) * 1e6)
            if waiters:
                woken = waiters[sample % number]
                woken.wire.receive()
                if on_list:
                    woken.wire.ask(*take_words(KEYS, 60_000, 1))
                _wait(woken, on_list=on_list)
                await_blocked(wire, number)
        wire.ask("FLUSHALL")
    with Wire(server.unix_path) as wire:
        await_blocked(wire, 0)
    return statistics.median(spent_us)


def _wait(waiter: Waiter, *, on_list: bool) -> None:
    if on_list:
        waiter.wire.send([("BLPOP", KEYS.wake, 600)])
    else:
        waiter.ask(KEYS, Asked(park_ms=3_600_000, block_ms=3_600_000))


if __name__ == "__main__":
    main()
