"""Cases 89, 91 and 93: bulk verbs work in bounded slices, one job is found by its id, sweeps are indexed by expiry.

Nothing is timed. What a script does is counted: the rows it changes, and the commands it has the server run.
"""

from collections.abc import Callable

import pytest

from echomq.keys import QueueKeys
from echomq.records import Token
from echomq.states import SetName
from echomq.transitions.browse import browse
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.drain import drain
from echomq.transitions.obliterate import obliterate
from echomq.transitions.promote import promote
from echomq.transitions.purge import purge
from echomq.transitions.reap import reap
from echomq.transitions.remove import remove
from echomq.transitions.repair import repair
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.retry import retry
from tests.harness.case import Case
from tests.harness.lua import LuaBody
from tests.harness.state import HOUR, Seed, job_number

MANY = 2500
# The harness, whoever empties the script cache, and what a server asks itself when it makes a new one.
_NOT_OF_THE_CALL = ("time", "info", "evalsha", "eval", "script", "config")
lua_only = pytest.mark.parametrize("body", ["lua"], indirect=True)  # what is counted is what a server runs


def full(seed: Seed, place: str, count: int) -> Seed:
    for number in range(1, count + 1):
        job = job_number(number)
        match place:
            case "pending":
                seed.pending(job)
            case "active":
                seed.active(job, 1, ends=-1)
            case "scheduled":
                seed.scheduled(job, due=-1)
            case "dead":
                seed.dead(job, 1)
            case _:
                seed.row(job, state=b"active", attempts=1)
    return seed


BULK: list[tuple[str, str, Callable[[QueueKeys], Call[object]]]] = [
    ("drain", "pending", drain),
    ("drain", "scheduled", lambda keys: drain(keys, schedule=True)),
    ("claim_many", "pending", lambda keys: claim_many(keys, lease_ms=HOUR, size=1000)),
    ("promote", "scheduled", lambda keys: promote(keys, limit=1000)),
    ("reap", "active", lambda keys: reap(keys, limit=1000, max_attempts=1)),
    ("reprocess_many", "dead", lambda keys: reprocess_many(keys, limit=1000)),
    ("purge", "dead", lambda keys: purge(keys, age_ms=0, limit=1000)),
    ("obliterate", "pending", lambda keys: obliterate(keys, budget=500)),
    ("repair", "lost", lambda keys: repair(keys, budget=500)),
]


@pytest.mark.parametrize(("name", "place", "build"), BULK, ids=[f"{name} {place}" for name, place, _ in BULK])
def test_case_89_a_bulk_verb_changes_a_bounded_slice(
    case: Case, name: str, place: str, build: Callable[[QueueKeys], Call[object]]
) -> None:
    case.given(full(case.seed().paused() if name == "obliterate" else case.seed(), place, MANY))
    before = case.body.dump()
    case.body.run(build(case.keys))
    after = case.body.dump()
    rows = {key for key in before if b":job:" in key}
    changed = sum(before[key] != after.get(key) for key in rows)
    assert 0 < changed <= 1000, f"{name} changed {changed} rows in one call"


@pytest.fixture
def commands(case: Case) -> Callable[[Call[object]], int]:
    """How many commands of a script a call has the server run."""
    body = case.body
    assert isinstance(body, LuaBody)

    def total() -> int:
        stats = body.wire.ask("INFO", "commandstats")
        assert isinstance(stats, bytes)
        counted = 0
        for line in stats.decode().splitlines():
            name = line.split(":")[0].removeprefix("cmdstat_").split("|")[0]
            if line.startswith("cmdstat_") and name not in _NOT_OF_THE_CALL:
                counted += int(line.split("calls=")[1].split(",")[0])
        return counted

    def of(call: Call[object]) -> int:
        before = total()
        body.run(call)
        return total() - before

    return of


BY_ID: list[tuple[str, str, Callable[[QueueKeys], Call[object]]]] = [
    ("remove", "pending", lambda keys: remove(keys, job_number(5))),
    ("remove", "dead", lambda keys: remove(keys, job_number(5))),
    ("complete", "active", lambda keys: complete(keys, job_number(5), Token(1))),
    ("retry", "active", lambda keys: retry(keys, job_number(5), Token(1), delay_ms=1, max_attempts=3, error="e")),
    ("claim", "pending", lambda keys: claim(keys, lease_ms=HOUR)),
    ("browse", "pending", lambda keys: browse(keys, SetName.PENDING, limit=5)),
]


@lua_only
@pytest.mark.parametrize(("name", "place", "build"), BY_ID, ids=[f"{name} {place}" for name, place, _ in BY_ID])
def test_case_91_one_job_costs_the_same_among_ten_and_among_thousands(
    case: Case,
    commands: Callable[[Call[object]], int],
    name: str,
    place: str,
    build: Callable[[QueueKeys], Call[object]],
) -> None:
    costs = []
    for count in (10, MANY):
        case.body.drop()
        case.body.load(full(case.seed(), place, count).state())
        costs.append(commands(build(case.keys)))
    assert costs[0] == costs[1], f"{name} needs {costs} commands among 10 and {MANY}"


@lua_only
def test_case_93_a_sweep_looks_only_at_what_has_expired(case: Case, commands: Callable[[Call[object]], int]) -> None:
    costs: list[list[int]] = []
    for count in (0, MANY):
        seed = case.seed()
        for number in range(10, 10 + count):
            job = job_number(number)
            (seed.active(job, 1, ends=5) if number % 2 else seed.scheduled(job, 1, due=5)).row(job, lock=b"1")
        for number in range(1, 4):
            seed.active(job_number(number), 1, ends=-1)
        for number in range(4, 7):
            seed.scheduled(job_number(number), 1, due=-1)
        case.body.drop()
        case.body.load(seed.state())
        costs.append([commands(reap(case.keys)), commands(promote(case.keys))])
    assert costs[0] == costs[1]
