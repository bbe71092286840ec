"""Asks what a transition costs the server by the module's command, and what by its script.

    python bench/transitions.py [--json] [--rounds N] [--jobs N] [--module PATH]

For one server after another (flat; 100 lanes; flat, with an append-only file; flat, with a replica) jobs live through
all transitions that the module has, one by one and a hundred in a call. Both carriers have a queue of their own on the
one server and take turns, a pipeline of 400 jobs each, so that a busy machine disturbs both alike. A shorter one goes
ahead of it, which is not measured: it has the caches to fill that the other carrier has emptied.

- script, module: microseconds of server time a job from INFO commandstats, that is within the call.
- all told: the processor time of the server's thread for a job, with reading, answering, and whatever it does for the
  append-only file and the replica, which a call's own time does not show.

The server's clock runs on while something else has the processor. So the half of the pipelines counts in which the
server waited least for it, as the kernel tells, and of these the lower quartile: what other programs do to the caches
only makes them longer.

`--json` prints one JSON object, the last line: for enqueue, claim and complete, flat and one by one, the module's time
as a part of the script's; and for each carrier the microseconds of a life in batches of 100: enqueue_many, take,
complete_many.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Completion, NewJob, Token
from echomq.resp.reply import ErrorReply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend import extend
from echomq.transitions.extend_many import extend_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.genqueue import genqueue
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.retry import retry
from echomq.transitions.take import take
from echomq.transitions.wake import wake
from tests.harness.wire import Part, Wire
from tests.servers import RealServer, built_module, valkey_server

LEASE_MS = 3_600_000
PIPELINE = 400
WARM_UP = 200
BATCH = 100
LANES = 100
FIRST = Token(1)
PAYLOAD = b"x" * 100
NOT_MEASURED = ""
CARRIERS = ("lua", "module")
SINGLY = ("enqueue", "claim", "complete")
CYCLE = ("enqueue_many", "take", "complete_many")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """One transition of many jobs, or NOT_MEASURED: what prepares the next one, calls or `commands`."""

    name: str
    size: int
    calls: Sequence[Call[object]]
    commands: Sequence[Sequence[Part]] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """One pipeline: microseconds a job within the calls and all told, and how long the server waited meanwhile."""

    call_us: float
    told_us: float
    waited_us: float


Costs = dict[tuple[str, int], dict[str, list[Slice]]]


# ---- the lives ------------------------------------------------------------------------------------------------------


def singly(keys: QueueKeys, jobs: Sequence[JobId], lanes: int) -> Iterator[Step]:
    """Yield the steps of a life in which each call is for one job."""
    if lanes:
        admissions = [genqueue(keys, job, PAYLOAD, lane=f"lane-{n % lanes}") for n, job in enumerate(jobs)]
        yield Step("genqueue", 1, admissions)
        yield Step("gclaim", 1, [gclaim(keys, lease_ms=LEASE_MS) for _ in jobs[::2]])
        yield Step("gwclaim", 1, [gwclaim(keys, lease_ms=LEASE_MS) for _ in jobs[::2]])
    else:
        yield Step("enqueue", 1, [enqueue(keys, job, PAYLOAD) for job in jobs])
        yield Step("wake", 1, [wake(keys, worth=1) for _ in jobs])
        yield Step("claim", 1, [claim(keys, lease_ms=LEASE_MS) for _ in jobs])
    yield Step("extend", 1, [extend(keys, job, FIRST, lease_ms=LEASE_MS) for job in jobs])
    done, rest = jobs[::2], jobs[1::2]
    yield Step("complete", 1, [complete(keys, job, FIRST) for job in done])
    back, failed = rest[::2], rest[1::2]
    yield Step("release", 1, [release(keys, job, FIRST) for job in back])
    yield Step("retry", 1, [retry(keys, job, FIRST, delay_ms=1000, max_attempts=9, error="no") for job in failed])
    yield due(keys, failed)
    yield Step("promote", 1, [promote(keys, limit=1) for _ in failed])
    yield Step("take", 1, [take(keys, lease_ms=LEASE_MS, size=1) for _ in rest])
    yield lapsed(keys, rest)
    yield Step("reap", 1, [reap(keys, limit=1) for _ in rest])


def in_batches(keys: QueueKeys, jobs: Sequence[JobId], lanes: int) -> Iterator[Step]:
    """Yield the steps of a life in which each call is for a hundred jobs."""
    news = [NewJob(job, PAYLOAD, lane=f"lane-{n % lanes}" if lanes else None) for n, job in enumerate(jobs)]
    yield Step("enqueue_many", BATCH, [enqueue_many(keys, batch) for batch in cut(news)])
    yield Step("take", BATCH, [take(keys, lease_ms=LEASE_MS, size=BATCH) for _ in cut(jobs)])
    holders = [(job, FIRST) for job in jobs]
    yield Step("extend_many", BATCH, [extend_many(keys, batch, lease_ms=LEASE_MS) for batch in cut(holders)])
    middle = len(jobs) // 2
    done, rest = [Completion(job, FIRST) for job in jobs[:middle]], jobs[middle:]
    yield Step("complete_many", BATCH, [complete_many(keys, batch) for batch in cut(done)])
    yield lapsed(keys, rest)
    yield Step("reap", BATCH, [reap(keys, limit=BATCH) for _ in cut(rest)])
    if lanes:
        size = len(rest) // lanes
        yield Step("gbclaim", size, [gbclaim(keys, lease_ms=LEASE_MS, cap=size) for _ in range(lanes)])
    else:
        yield Step("claim_many", BATCH, [claim_many(keys, lease_ms=LEASE_MS, size=BATCH) for _ in cut(rest)])
    retries = [retry(keys, job, Token(2), delay_ms=1000, max_attempts=9, error="no") for job in rest]
    yield Step(NOT_MEASURED, 1, retries)
    yield due(keys, rest)
    yield Step("promote", BATCH, [promote(keys, limit=BATCH) for _ in cut(rest)])


def cut(items: Sequence[T]) -> list[Sequence[T]]:
    """Return them in batches."""
    return [items[at : at + BATCH] for at in range(0, len(items), BATCH)]


def due(keys: QueueKeys, jobs: Sequence[JobId]) -> Step:
    """Let the instant of scheduled jobs come."""
    return Step(NOT_MEASURED, 1, (), [["ZADD", keys.schedule, "XX", "1", job] for job in jobs])


def lapsed(keys: QueueKeys, jobs: Sequence[JobId]) -> Step:
    """Let the leases of jobs lapse."""
    return Step(NOT_MEASURED, 1, (), [["ZADD", keys.active, "XX", "1", job] for job in jobs])


# ---- measuring ------------------------------------------------------------------------------------------------------


def packed(call: Call[object], carrier: str) -> list[Part]:
    """Return the command of a call."""
    if carrier == "module":
        return [f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args]
    return ["EVALSHA", body_of(call.transition).sha1, len(call.keys), *call.keys, *call.args]


class Stage:
    """One server, and what the two carriers cost there."""

    def __init__(self, server: RealServer, wire: Wire) -> None:
        self._wire = wire
        self._clock = Path(f"/proc/{server.pid}/task/{server.pid}/schedstat")
        self.costs: Costs = {}

    def live(self, lives: dict[str, list[Step]]) -> None:
        """Let jobs live with each carrier, pipeline by pipeline in turn. The steps of the carriers are the same."""
        self._wire.ask("FLUSHALL")
        for steps in zip(*lives.values(), strict=True):
            commands = {
                carrier: [packed(call, carrier) for call in step.calls] or list(step.commands)
                for carrier, step in zip(lives, steps, strict=True)
            }
            name, size = steps[0].name, steps[0].size
            self._load(steps[0])
            warm_up, width = WARM_UP // size, (WARM_UP + PIPELINE) // size
            for turn, at in enumerate(range(0, len(commands[CARRIERS[0]]), width)):
                for carrier in CARRIERS if turn % 2 else CARRIERS[::-1]:
                    self._run(NOT_MEASURED, size, carrier, commands[carrier][at : at + warm_up])
                    self._run(name, size, carrier, commands[carrier][at + warm_up : at + width])
        assert self._wire.ask("EXISTS", *[QueueKeys(name).active for name in CARRIERS]) == 0, "jobs were left behind"

    def _load(self, step: Step) -> None:
        if step.calls:
            self._wire.ask("SCRIPT", "LOAD", body_of(step.calls[0].transition).text)

    def _run(self, name: str, size: int, carrier: str, commands: Sequence[Sequence[Part]]) -> None:
        if not commands:
            return
        self._wire.ask("CONFIG", "RESETSTAT")
        ran_us, waited_us = self._spent_us()
        for reply in self._wire.pipeline(commands):
            if isinstance(reply, ErrorReply):
                raise reply
        self._wire.ask("PING")  # what the server does between two turns of its loop is over when it answers
        ran_till_us, waited_till_us = self._spent_us()
        if name != NOT_MEASURED:
            call_us = self._call_us(name if carrier == "module" else None)
            jobs = len(commands) * size
            found = Slice(call_us / jobs, (ran_till_us - ran_us) / jobs, (waited_till_us - waited_us) / jobs)
            self.costs.setdefault((name, size), {}).setdefault(carrier, []).append(found)

    def _spent_us(self) -> tuple[float, float]:
        """Return how long the server's thread has run, and how long it has waited to run."""
        if not self._clock.exists():
            return 0.0, 0.0
        ran_ns, waited_ns, _ = self._clock.read_text().split()
        return int(ran_ns) / 1000, int(waited_ns) / 1000

    def _call_us(self, name: str | None) -> int:
        stats = cast("bytes", self._wire.ask("INFO", "commandstats")).decode()
        command = "evalsha" if name is None else rf"emq\.{name}"
        found = re.search(rf"cmdstat_{command}:calls=\d+,usec=(\d+)", stats, re.IGNORECASE)
        assert found is not None, stats
        return int(found[1])


def quiet(slices: Sequence[Slice], cost: Callable[[Slice], float]) -> float:
    """Return what a job costs where little disturbs the server."""
    undisturbed = sorted(slices, key=lambda found: found.waited_us)[: (len(slices) + 1) // 2]
    return sorted(map(cost, undisturbed))[len(undisturbed) // 4]


def call_us(slices: Sequence[Slice]) -> float:
    """Return what a job costs within the calls."""
    return quiet(slices, lambda found: found.call_us)


def told_us(slices: Sequence[Slice]) -> float:
    """Return what a job costs all told."""
    return quiet(slices, lambda found: found.told_us)


# ---- the servers ----------------------------------------------------------------------------------------------------


def measure(options: argparse.Namespace, *, lanes: int = 0, persistent: bool = False, replica: bool = False) -> Costs:
    """Return what the steps of both lives cost on such a server."""
    numbers = range(1 << 40, (1 << 40) + options.jobs)
    jobs = [JobId.of_snowflake(number) for number in numbers]
    lives: Sequence[Callable[[QueueKeys, Sequence[JobId], int], Iterator[Step]]] = (singly, in_batches)
    with ExitStack() as stack:
        load = ("--loadmodule", options.module, "--repl-diskless-sync-delay", "0")
        server = stack.enter_context(valkey_server(*load, tcp=replica, persistent=persistent))
        wire = stack.enter_context(Wire(server.unix_path))
        if replica:
            stack.enter_context(valkey_server("--replicaof", f"127.0.0.1 {server.port}"))
            assert wire.ask("SET", "joined", "1") == b"OK"
            assert wire.ask("WAIT", 1, 20_000) == 1, "the replica has not come"
        stage = Stage(server, wire)
        for life in lives:
            steps = {carrier: list(life(QueueKeys(carrier), jobs, lanes)) for carrier in CARRIERS}
            for _ in range(options.rounds):
                stage.live(steps)
    return stage.costs


def show(title: str, costs: Costs) -> None:
    """Print the table of one server."""
    print(f"{title:30} {'script':>9}{'module':>9}{'ratio':>8}   all told{'script':>9}{'module':>9}")
    for (name, size), by in costs.items():
        lua, module = (call_us(by[carrier]) for carrier in CARRIERS)
        told = "".join(f"{told_us(by[carrier]):9.2f}" for carrier in CARRIERS)
        print(f"{name:16}{f'{size} a call':14} {lua:9.2f}{module:9.2f}{module / lua:8.2f}           {told}")
    print()


def main() -> None:
    """Print the tables, and what is asked of the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the ratios as one JSON object at the end")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=4_800, help="jobs of each life, a multiple of 2,400")
    parser.add_argument("--module", default=built_module(), help="the .so to measure; else it is built from this tree")
    options = parser.parse_args()
    if options.module is None:
        parser.exit(message="there is no C compiler, so there is no module to measure\n")
    flat = measure(options)
    show("µs a job: flat", flat)
    show(f"µs a job: {LANES} lanes", measure(options, lanes=LANES))
    show("µs a job: append-only file", measure(options, persistent=True))
    show("µs a job: one replica", measure(options, replica=True))
    if options.json:
        told = {name: call_us(flat[name, 1]["module"]) / call_us(flat[name, 1]["lua"]) for name in SINGLY}
        cycle = {c: sum(call_us(flat[name, BATCH][c]) for name in CYCLE) for c in CARRIERS}
        told |= {"cycle_module_us": cycle["module"], "cycle_lua_us": cycle["lua"]}
        print(json.dumps({name: round(value, 3) for name, value in told.items()}))


if __name__ == "__main__":
    main()
