"""Measures what a job costs in a batch: by the script, and by the module's command.

    python bench/batches.py [--json] [--jobs 2000] [--rounds 6] [--lanes 100] [--module PATH]

Server time in microseconds a job from INFO commandstats, both bodies in one run on one server, pipelined, best of
several rounds: batches of 1, 10 and 100 jobs, first flat, then spread over lanes. The last line with --json has
module / script for flat batches of 100.
"""

# ruff: noqa: E402 - what is imported from the root needs the path first
import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from bench.transitions import LEASE_MS, MODULE, measure
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Completion, NewJob, Token
from echomq.resp.reply import ErrorReply
from echomq.transitions.call import Call
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete_many import complete_many
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend_many import extend_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from tests.harness.state import job_number
from tests.harness.wire import Wire
from tests.servers import valkey_server

SIZES = (1, 10, 100)
FIRST = Token(1)


def cut(jobs: Sequence[JobId], size: int) -> list[Sequence[JobId]]:
    """Return the jobs in batches of one size."""
    return [jobs[at : at + size] for at in range(0, len(jobs), size)]


def per_job(wire: Wire, calls: Iterable[Call[object]], jobs: int, *, by_module: bool) -> float:
    """Return microseconds of server time for each of so many jobs."""
    listed = list(calls)
    return measure(wire, listed, by_module=by_module)[0] * len(listed) / jobs


def lease_all(wire: Wire, keys: QueueKeys, jobs: int, lanes: int) -> None:
    """Lease every job that waits, whosever turn it is."""
    rounds: list[Call[object]] = [claim_many(keys, lease_ms=LEASE_MS, size=1000) for _ in range(jobs // 1000 + 1)]
    if lanes:
        rounds = [gbclaim(keys, lease_ms=LEASE_MS, cap=1000) for _ in range(lanes * (jobs // lanes // 1000 + 1))]
    measure(wire, rounds, by_module=False)
    assert wire.ask("ZCARD", keys.active) == jobs


def life(wire: Wire, jobs: Sequence[JobId], size: int, lanes: int, *, by_module: bool) -> dict[str, float]:
    """Return the microseconds a job of each transition, in the order of a job's life."""
    keys, cost, half = QueueKeys("bench"), dict[str, float](), len(jobs) // 2
    wire.ask("FLUSHALL")
    news = [NewJob(job, b"x" * 100, lane=f"lane-{n % lanes}" if lanes else None) for n, job in enumerate(jobs)]
    admissions = [enqueue_many(keys, news[at : at + size]) for at in range(0, len(news), size)]
    cost["enqueue_many"] = per_job(wire, admissions, len(jobs), by_module=by_module)
    lease_all(wire, keys, len(jobs), lanes)
    extensions = [extend_many(keys, [(job, FIRST) for job in batch], lease_ms=LEASE_MS) for batch in cut(jobs, size)]
    cost["extend_many"] = per_job(wire, extensions, len(jobs), by_module=by_module)
    endings = [complete_many(keys, [Completion(job, FIRST) for job in batch]) for batch in cut(jobs[:half], size)]
    cost["complete_many"] = per_job(wire, endings, half, by_module=by_module)
    rest = jobs[half:]
    told = wire.pipeline([["ZADD", keys.active, "XX", "1", job] for job in rest])
    assert not any(isinstance(reply, ErrorReply) for reply in told)
    slices = range(0, len(rest), size)
    cost["reap"] = per_job(wire, (reap(keys, limit=size) for _ in slices), len(rest), by_module=by_module)
    wire.ask("DEL", keys.pending, *[keys.lane(f"lane-{number}") for number in range(lanes)])
    wire.pipeline([["ZADD", keys.schedule, "1", job] for job in rest])
    cost["promote"] = per_job(wire, (promote(keys, limit=size) for _ in slices), len(rest), by_module=by_module)
    assert wire.ask("EXISTS", keys.schedule, keys.active) == 0, "a command has left jobs behind"
    return cost


def best_of(wire: Wire, options: argparse.Namespace, size: int, lanes: int) -> dict[str, tuple[float, float]]:
    """Return the least that each transition cost a job, by its script and by the module."""
    jobs = [job_number(number) for number in range(1, options.jobs + 1)]
    best: dict[bool, dict[str, float]] = {False: {}, True: {}}
    for _ in range(options.rounds):
        for by_module in (False, True):
            for name, cost in life(wire, jobs, size, lanes, by_module=by_module).items():
                best[by_module][name] = min(cost, best[by_module].get(name, cost))
    return {name: (best[False][name], best[True][name]) for name in best[False]}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--lanes", type=int, default=100)
    parser.add_argument("--module", default=str(MODULE))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    told: dict[str, float] = {}
    with valkey_server("--loadmodule", options.module) as server, Wire(server.unix_path) as wire:
        for lanes in (0, options.lanes):
            where = f"{lanes} lanes" if lanes else "flat"
            for size in SIZES:
                for name, (script, ours) in best_of(wire, options, size, lanes).items():
                    us = f"script {script:6.2f} us   module {ours:6.2f} us   {ours / script:5.2f}"
                    print(f"{name:14} of {size:3}, {where:9} {us}")
                    if not lanes and size == max(SIZES):
                        told[name] = round(ours / script, 3)
    if options.json:
        print(json.dumps(told))


if __name__ == "__main__":
    main()
