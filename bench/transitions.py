"""What a transition costs the server: by its script, and by the module's command.

    python bench/transitions.py [--json] [--jobs 20000] [--module PATH]

Server time in microseconds a job from INFO commandstats, both bodies in one run on one server, pipelined, best of
several rounds. The last line with --json is `{"enqueue": r, "claim": r, "complete": r, ...}` with r = module / script.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.complete import complete
from echomq.transitions.enqueue import enqueue
from echomq.transitions.extend import extend
from echomq.transitions.gclaim import gclaim
from echomq.transitions.genqueue import genqueue
from echomq.transitions.release import release
from echomq.transitions.retry import retry
from tests.harness.state import job_number
from tests.harness.wire import Wire
from tests.servers import valkey_server

MODULE = Path(__file__).parents[1] / "module" / "emq.so"
LEASE_MS = 3_600_000
PIPELINE = 200


def packed(call: Call[object], *, by_module: bool) -> list[bytes | str | int]:
    """Return the command of a call."""
    if by_module:
        return [f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args]
    return [b"EVALSHA", body_of(call.transition).sha1, len(call.keys), *call.keys, *call.args]


def measure(wire: Wire, calls: Iterable[Call[object]], *, by_module: bool) -> tuple[float, list[Reply]]:
    """Return microseconds of server time a call, and the replies.

    The server's clock runs on while something else has the processor, so each pipeline is a measurement of its own, and
    the quarter that was disturbed least decides.
    """
    listed = list(calls)
    if not by_module:
        wire.ask("SCRIPT", "LOAD", body_of(listed[0].transition).text)
    command = f"EMQ.{listed[0].transition.name.upper()}" if by_module else "evalsha"
    wire.ask("CONFIG", "RESETSTAT")
    replies: list[Reply] = []
    costs: list[float] = []
    calls_before = spent_before = 0
    for at in range(0, len(listed), PIPELINE):
        replies += wire.pipeline([packed(call, by_module=by_module) for call in listed[at : at + PIPELINE]])
        stats = cast("bytes", wire.ask("INFO", "commandstats")).decode()
        found = re.search(rf"cmdstat_{re.escape(command)}:calls=(\d+),usec=(\d+)", stats, re.IGNORECASE)
        assert found is not None, stats
        calls_now, spent_now = int(found[1]), int(found[2])
        costs.append((spent_now - spent_before) / (calls_now - calls_before))
        calls_before, spent_before = calls_now, spent_now
    for reply in replies:
        if isinstance(reply, ErrorReply):
            raise reply
    return sorted(costs)[len(costs) // 4], replies


def flat(wire: Wire, jobs: Sequence[JobId], *, by_module: bool) -> dict[str, float]:
    """Return what the steps of jobs of the flat set cost."""
    keys = QueueKeys("bench")
    wire.ask("FLUSHALL")
    cost: dict[str, float] = {}
    first = Token(1)
    cost["enqueue"], _ = measure(wire, (enqueue(keys, job, b"x" * 100) for job in jobs), by_module=by_module)
    cost["claim"], _ = measure(wire, (claim(keys, lease_ms=LEASE_MS) for _ in jobs), by_module=by_module)
    cost["extend"], _ = measure(
        wire, (extend(keys, job, first, lease_ms=LEASE_MS) for job in jobs), by_module=by_module
    )
    half = len(jobs) // 2
    cost["complete"], _ = measure(wire, (complete(keys, job, first) for job in jobs[:half]), by_module=by_module)
    quarter = half + half // 2
    cost["release"], _ = measure(wire, (release(keys, job, first) for job in jobs[half:quarter]), by_module=by_module)
    retries = (retry(keys, job, first, delay_ms=1000, max_attempts=3, error="no") for job in jobs[quarter:])
    cost["retry"], _ = measure(wire, retries, by_module=by_module)
    return cost


def lanes(wire: Wire, jobs: Sequence[JobId], *, by_module: bool, count: int = 100) -> dict[str, float]:
    """Return what the steps of jobs in so many lanes cost."""
    keys = QueueKeys("bench")
    wire.ask("FLUSHALL")
    cost: dict[str, float] = {}
    lane = {job: f"lane-{number % count}" for number, job in enumerate(jobs)}
    cost["genqueue"], _ = measure(
        wire, (genqueue(keys, job, b"x" * 100, lane=lane[job]) for job in jobs), by_module=by_module
    )
    cost["gclaim"], _ = measure(wire, (gclaim(keys, lease_ms=LEASE_MS) for _ in jobs), by_module=by_module)
    cost["complete in a lane"], _ = measure(wire, (complete(keys, job, Token(1)) for job in jobs), by_module=by_module)
    return cost


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--module", default=str(MODULE))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--aof", action="store_true", help="with the append-only file")
    options = parser.parse_args()
    jobs = [job_number(number) for number in range(1, options.jobs + 1)]
    best: dict[bool, dict[str, float]] = {False: {}, True: {}}
    with (
        valkey_server("--loadmodule", options.module, persistent=options.aof) as server,
        Wire(server.unix_path) as wire,
    ):
        for _ in range(options.rounds):
            for by_module in (False, True):
                for run in (flat, lanes):
                    for name, cost in run(wire, jobs, by_module=by_module).items():
                        best[by_module][name] = min(cost, best[by_module].get(name, cost))
    ratios = {name: best[True][name] / best[False][name] for name in best[False]}
    for name, ratio in ratios.items():
        print(f"{name:20} script {best[False][name]:6.2f} us   module {best[True][name]:6.2f} us   {ratio:5.2f}")
    if options.json:
        print(json.dumps({name: round(ratios[name], 3) for name in ("enqueue", "claim", "complete")}))


if __name__ == "__main__":
    main()
