"""Asks whether lanes cost the server more when there are many of them.

Private servers with no lane, 10, 1,000 and 100,000 lanes, and the same number of waiting jobs in each. The same calls
go to all of them in turn, pipelined, round after round, and what the server itself counts for its scripts (`INFO
commandstats`) is divided by the jobs. The ratio is that of 100,000 lanes to 10 within a round, and its median over the
rounds counts, so a machine that gets slower for a while slows both sides. Lanes are picked by lot, as tenants come.

- enqueue: into a lane that has jobs, and into an empty one, which enters the ring.
- claim: `take` of one job, and of a hundred jobs.
- complete: one by one, and a hundred in one call.
- at a limit of 1: each claim takes its lane off the ring, each completion puts it back.
- pause and resume: an operator's words. A pause looks for its lane on the ring, so it alone grows with the lanes.

A batch of a hundred has ten jobs of each of ten lanes, but where there are more lanes each job has another. So what is
done once for each lane is shared by ten jobs or by none, and what the number of lanes does to a batch is seen in the
ratio to 1,000 lanes.

Run:

    python bench/lanes.py [--json] [--rounds N] [--calls N] [--jobs N]

`--json` prints one JSON object, the last line: for each of the three the ratio of most lanes to fewest, the larger one
of its kinds of single calls. The table has the batches too.
"""

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from echomq.drivers.blocking import BlockingClient
from echomq.errors import EchoMQError
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Claimed, Completion, NewJob, Taken
from echomq.transitions.call import Call
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.gdrain import gdrain
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.gresume import gresume
from echomq.transitions.take import take
from tests.servers import RealServer, valkey_server

SIZES = (10, 1_000, 100_000)
SCENES = (0, *SIZES)
KEYS = QueueKeys("bench")
PAYLOAD = b"x" * 100
LEASE_MS = 3_600_000
BATCH = 100
REPORTED = {
    "enqueue": ("enqueue", "enqueue, empty lane"),
    "claim": ("claim", "claim, limit 1"),
    "complete": ("complete", "complete, limit 1"),
}
NEW_AT_ONCE = 10  # empty lanes that are filled at once: few, so that ten lanes stay about ten

A = TypeVar("A")
Costs = dict[str, float]


class Scene:
    """One server with its lanes, and a client."""

    def __init__(self, server: RealServer, client: BlockingClient, lanes: int) -> None:
        self._server = server
        self._client = client
        self._names = [f"tenant-{number}" for number in range(lanes)]
        self._places: list[str | None] = [*self._names] or [None]
        self._dice = random.Random(lanes)
        self._ids = _ids()
        self._costs: Costs = {}

    def fill(self, jobs: int) -> None:
        """Give every lane the same number of jobs, each lane's spread over the whole time of filling."""
        names = self._places * (jobs // len(self._places))
        for at in range(0, len(names), 1000):
            new = [NewJob(next(self._ids), PAYLOAD, lane=lane) for lane in names[at : at + 1000]]
            self._ask([enqueue_many(KEYS, new)])

    def round(self, calls: int) -> Costs:
        """Do everything once, and leave as many jobs as there were. Returns µs of the server for each job, by name."""
        self._costs = {}
        self._measure("enqueue", [self._new(self._dice.choice(self._places)) for _ in range(2 * calls)])
        single = _jobs(self._measure("claim", [take(KEYS, lease_ms=LEASE_MS, size=1) for _ in range(calls)]))
        many = _jobs(self._measure("claim 100", [take(KEYS, lease_ms=LEASE_MS, size=BATCH)] * (calls // BATCH), calls))
        assert (len(single), len(many)) == (calls, calls)
        self._dice.shuffle(single)  # jobs do not end in the order in which they began
        self._measure("complete", [complete(KEYS, claimed.job, claimed.token) for claimed in single])
        items = [Completion(claimed.job, claimed.token) for claimed in many]
        batches = [complete_many(KEYS, items[at : at + BATCH]) for at in range(0, calls, BATCH)]
        self._measure("complete 100", batches, calls)
        if self._names:
            self._lane_round(calls)
        return self._costs

    def _lane_round(self, calls: int) -> None:
        new = [f"new-{number}" for number in range(NEW_AT_ONCE)]
        for _ in range(calls // NEW_AT_ONCE):
            self._measure("enqueue, empty lane", [self._new(lane) for lane in new])
            self._ask([gdrain(KEYS, lane) for lane in reversed(new)])
        self._costs["enqueue, empty lane"] /= calls // NEW_AT_ONCE
        parked = self._dice.sample(self._names, min(SIZES))
        self._measure("pause", [gpause(KEYS, lane) for lane in parked])
        self._measure("resume", [gresume(KEYS, lane) for lane in parked])

    def limit_all(self) -> None:
        """Let each lane have one job in flight."""
        for at in range(0, len(self._names), 1000):
            self._ask([glimit(KEYS, lane, 1) for lane in self._names[at : at + 1000]])

    def limited_round(self, calls: int) -> Costs:
        """Claim and complete at a limit of 1, as few at once as ten lanes allow. Without a lane there is no limit."""
        if not self._names:
            return {}
        self._costs = {}
        step = min(SIZES) // 2
        for _ in range(calls // step):
            jobs = _jobs(self._measure("claim, limit 1", [take(KEYS, lease_ms=LEASE_MS, size=1)] * step))
            assert len(jobs) == step
            self._measure("complete, limit 1", [complete(KEYS, claimed.job, claimed.token) for claimed in jobs])
        return {name: cost / (calls // step) for name, cost in self._costs.items()}

    def _new(self, lane: str | None) -> Call[object]:
        job = next(self._ids)
        return enqueue(KEYS, job, PAYLOAD) if lane is None else genqueue(KEYS, job, PAYLOAD, lane=lane)

    def _measure(self, name: str, calls: Sequence[Call[A]], jobs: int | None = None) -> list[A]:
        before = self._script_us()
        answers = self._ask(calls)
        cost = (self._script_us() - before) / (jobs or len(calls))
        self._costs[name] = self._costs.get(name, 0.0) + cost
        return answers

    def _ask(self, calls: Sequence[Call[A]]) -> list[A]:
        answers: list[A] = []
        for answer in self._client.run_all(calls):
            if isinstance(answer, EchoMQError):
                raise answer
            answers.append(answer)
        return answers

    def _script_us(self) -> int:
        text = self._server.ask("INFO", "commandstats").decode()
        _, _, rest = text.partition("cmdstat_evalsha:")
        return int(rest.partition("usec=")[2].partition(",")[0] or 0)


def main() -> None:
    """Print the medians, and the ratios of most lanes to fewest."""
    options = _options()
    with ExitStack() as stack:
        scenes: dict[int, Scene] = {}
        for lanes in SCENES:
            server = stack.enter_context(valkey_server())
            client = stack.enter_context(BlockingClient.connect(ConnectionOptions(url=server.url)))
            scenes[lanes] = Scene(server, client, lanes)
            scenes[lanes].fill(options.jobs)
        rows = _rounds(options.rounds, lambda lanes: scenes[lanes].round(options.calls))
        for scene in scenes.values():
            scene.limit_all()
        rows |= _rounds(options.rounds, lambda lanes: scenes[lanes].limited_round(options.calls // 4))
    few, some, many = SIZES
    heading = "".join(f"{lanes:>9,}" for lanes in SIZES)
    print(f"{'µs of the server for each job':30}  no lane{heading} lanes  {many:,} to {few:,}  to {some:,}")
    for name, costs in sorted(rows.items()):
        medians = "".join(f"{_median(costs[lanes]):>9}" for lanes in SCENES)
        print(f"{name:30}{medians}       {_ratio(costs, few):8.2f}{_ratio(costs, some):10.2f}")
    if options.json:
        ratios = {name: max(_ratio(rows[row], few) for row in counted) for name, counted in REPORTED.items()}
        print(json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}))


def _rounds(rounds: int, measured: Callable[[int], Costs]) -> dict[str, dict[int, list[float]]]:
    """Return the costs of each round by name and size. Another size begins each round; the first round warms up."""
    rows: dict[str, dict[int, list[float]]] = {}
    for number in range(rounds + 1):
        order = SCENES[number % len(SCENES) :] + SCENES[: number % len(SCENES)]
        for lanes in order:
            costs = measured(lanes)
            if number:
                for name, cost in costs.items():
                    rows.setdefault(name, {size: [] for size in SCENES})[lanes].append(cost)
    return rows


def _ratio(costs: dict[int, list[float]], base: int) -> float:
    """Return the median over the rounds of what most lanes cost, as a multiple of what `base` lanes cost."""
    return statistics.median(most / less for most, less in zip(costs[max(SIZES)], costs[base], strict=True))


def _median(costs: list[float]) -> str:
    return f"{statistics.median(costs):.1f}" if costs else "-"


def _jobs(answers: Sequence[object]) -> list[Claimed]:
    return [claimed for answer in answers if isinstance(answer, Taken) for claimed in answer.jobs]


def _ids() -> Iterator[JobId]:
    return (JobId.of_snowflake(number) for number in count(1 << 40))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the ratios as one JSON object at the end")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=1_000, help="calls of each kind in a round, a multiple of 100")
    parser.add_argument("--jobs", type=int, default=200_000, help="waiting jobs, a multiple of 100,000")
    return parser.parse_args()


if __name__ == "__main__":
    main()
