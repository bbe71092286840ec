"""Rules 10 and 11 of docs/wire.md: a lane is on the ring exactly while it can be served; and W43, what that costs."""

from collections.abc import Callable

import pytest

from echomq.records import Completion, NewJob, Token
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.delay import delay
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gdrain import gdrain
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greap_group import greap_group
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.repair import repair
from echomq.transitions.reprocess import reprocess
from echomq.transitions.retry import retry
from echomq.transitions.take import take
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.lua import LuaBody
from tests.harness.state import HOUR, Seed, job_number

ONE = Token(1)
red, blue = RED.encode(), BLUE.encode()
Build = Callable[[Case], tuple[Seed, Call[object]]]
lua_only = pytest.mark.parametrize("body", ["lua"], indirect=True)  # what is counted is what a server runs


def leased(case: Case) -> Seed:
    return case.seed().active(J1, 1, ends=1, group=red).in_flight(RED, 1)


def lapsed(case: Case) -> Seed:
    return case.seed().active(J1, 1, ends=-1, group=red).in_flight(RED, 1)


def waiting(case: Case, *jobs: int) -> Seed:
    seed = case.seed()
    for number in jobs or (1,):
        seed.pending(job_number(number), 1, group=red)
    return seed


def failing(case: Case) -> Call[object]:
    return retry(case.keys, J1, ONE, delay_ms=HOUR, max_attempts=3, error="e")


# Moves of a group's jobs that leave its lane as it was, on the ring or off it, or make it serviceable: no entry of the
# ring has to be looked for.
O1: dict[str, Build] = {
    "genqueue": lambda c: (c.seed(), genqueue(c.keys, J1, b"p", lane=RED)),
    "genqueue to more": lambda c: (waiting(c, 2), genqueue(c.keys, J1, b"p", lane=RED)),
    "enqueue_many": lambda c: (
        waiting(c, 3),
        enqueue_many(c.keys, [NewJob(J1, b"p", lane=RED), NewJob(J2, b"p", lane=BLUE)]),
    ),
    "gclaim": lambda c: (waiting(c, 1, 2), gclaim(c.keys, lease_ms=HOUR)),
    "gclaim the last": lambda c: (waiting(c), gclaim(c.keys, lease_ms=HOUR)),
    "gclaim to the limit": lambda c: (waiting(c, 1, 2).limit(RED, 1), gclaim(c.keys, lease_ms=HOUR)),
    "gclaim past stale ones": lambda c: (waiting(c, 1, 2).ring("a", "b", RED), gclaim(c.keys, lease_ms=HOUR)),
    "gwclaim": lambda c: (waiting(c, 1, 2, 3).weight(RED, 2), gwclaim(c.keys, lease_ms=HOUR)),
    "gbclaim": lambda c: (waiting(c, 1, 2, 3), gbclaim(c.keys, lease_ms=HOUR)),
    "take": lambda c: (waiting(c, 1, 2, 3), take(c.keys, lease_ms=HOUR, size=2)),
    "take the last": lambda c: (waiting(c), take(c.keys, lease_ms=HOUR, size=2)),
    "take past stale ones": lambda c: (waiting(c, 1, 2).ring("a", "b", RED), take(c.keys, lease_ms=HOUR, size=1)),
    "claim of a grouped job": lambda c: (
        c.seed().row(J1, state=b"pending", group=red).member(c.keys.pending, J1, 0),
        claim(c.keys, lease_ms=HOUR),
    ),
    "complete": lambda c: (leased(c), complete(c.keys, J1, ONE)),
    "complete with more": lambda c: (leased(c).pending(J2, group=red), complete(c.keys, J1, ONE)),
    "complete at the limit": lambda c: (leased(c).pending(J2, group=red).limit(RED, 1), complete(c.keys, J1, ONE)),
    "complete late, with more": lambda c: (waiting(c, 1, 2), complete(c.keys, J1, ONE)),
    "complete_many": lambda c: (
        leased(c).active(J2, 1, ends=1, group=red).in_flight(RED, 2).pending(J3, group=red).limit(RED, 2),
        complete_many(c.keys, [Completion(J1, ONE), Completion(J2, ONE)]),
    ),
    "retry": lambda c: (leased(c).pending(J2, group=red), failing(c)),
    "retry at the limit": lambda c: (leased(c).pending(J2, group=red).limit(RED, 1), failing(c)),
    "delay": lambda c: (leased(c).pending(J2, group=red), delay(c.keys, J1, ONE, delay_ms=HOUR)),
    "release": lambda c: (leased(c), release(c.keys, J1, ONE)),
    "release with more": lambda c: (leased(c).pending(J2, group=red), release(c.keys, J1, ONE)),
    "promote": lambda c: (c.seed().scheduled(J1, due=-1, group=red).pending(J2, group=red), promote(c.keys)),
    "promote the first": lambda c: (c.seed().scheduled(J1, due=-1, group=red), promote(c.keys)),
    "reap": lambda c: (lapsed(c).pending(J2, group=red), reap(c.keys)),
    "reap the first": lambda c: (lapsed(c), reap(c.keys)),
    "greap_group": lambda c: (lapsed(c).pending(J2, group=red), greap_group(c.keys, RED)),
    "reprocess": lambda c: (c.seed().dead(J1, group=red).pending(J2, group=red), reprocess(c.keys, J1)),
    "remove a leased one": lambda c: (leased(c).pending(J2, group=red), remove(c.keys, J1)),
    "remove one of two": lambda c: (waiting(c, 1, 2), remove(c.keys, J1)),
    "greassign one of two": lambda c: (waiting(c, 1, 2), greassign(c.keys, J1, BLUE)),
    "gdrain a part": lambda c: (waiting(c, 1, 2, 3), gdrain(c.keys, RED, limit=2)),
    "gresume": lambda c: (waiting(c).parked(RED), gresume(c.keys, RED)),
    "glimit raised": lambda c: (leased(c).pending(J2, group=red).limit(RED, 1), glimit(c.keys, RED, 2)),
    "glimit that is not reached": lambda c: (leased(c).pending(J2, group=red), glimit(c.keys, RED, 2)),
}

# Where a lane leaves the ring from anywhere: one LREM.
LINEAR: dict[str, Build] = {
    "gpause": lambda c: (waiting(c), gpause(c.keys, RED)),
    "glimit lowered": lambda c: (leased(c).pending(J2, group=red), glimit(c.keys, RED, 1)),
    "greassign the last": lambda c: (waiting(c), greassign(c.keys, J1, BLUE)),
    "remove the last": lambda c: (waiting(c), remove(c.keys, J1)),
    "gdrain": lambda c: (waiting(c), gdrain(c.keys, RED)),
    "complete late, the last": lambda c: (waiting(c), complete(c.keys, J1, ONE)),
    "complete_many late, the last": lambda c: (
        waiting(c, 1, 2),
        complete_many(c.keys, [Completion(J1, ONE), Completion(J2, ONE)]),
    ),
    "retry late, the last": lambda c: (waiting(c), failing(c)),
    "delay late, the last": lambda c: (waiting(c), delay(c.keys, J1, ONE, delay_ms=HOUR)),
}


def with_others(seed: Seed) -> Seed:
    """Two more lanes on the ring, one before and one behind those of the seed."""
    other = seed.copy()
    ring = [name.decode() for name in _ring_of(seed)]
    other.pending(job_number(901), group=b"before").pending(job_number(902), group=b"behind")
    return other.ring("before", *ring, "behind")


def _ring_of(seed: Seed) -> tuple[bytes, ...]:
    entry = seed.state().get(seed.keys.ring)
    assert entry is None or isinstance(entry.value, tuple)
    return () if entry is None else tuple(name for name in entry.value if isinstance(name, bytes))


def calls_of(body: LuaBody, command: str) -> int:
    stats = body.wire.ask("INFO", "commandstats")
    assert isinstance(stats, bytes)
    for line in stats.decode().splitlines():
        if line.startswith(f"cmdstat_{command}:"):
            return int(line.split("calls=")[1].split(",")[0])
    return 0


@lua_only
@pytest.mark.parametrize(("name", "lrems"), [*((name, 0) for name in O1), *((name, 1) for name in LINEAR)])
def test_w43_nothing_is_looked_for_on_the_ring_but_what_leaves_it_from_anywhere(
    case: Case, name: str, lrems: int
) -> None:
    assert isinstance(case.body, LuaBody)
    seed, call = {**O1, **LINEAR}[name](case)
    case.given(seed)
    before = [calls_of(case.body, command) for command in ("lpos", "lrem", "linsert")]
    case.body.run(call)
    after = [calls_of(case.body, command) for command in ("lpos", "lrem", "linsert")]
    assert [later - earlier for later, earlier in zip(after, before, strict=True)] == [0, lrems, 0]


@lua_only
@pytest.mark.parametrize("name", [name for name in O1 if "stale" not in name])
def test_w43_a_move_costs_the_same_commands_beside_three_lanes_and_beside_three_hundred(case: Case, name: str) -> None:
    assert isinstance(case.body, LuaBody)
    costs = []
    for lanes in (3, 300):
        seed, call = O1[name](case)
        ring = [group.decode() for group in _ring_of(seed)]
        others = [f"other{number}" for number in range(lanes)]
        for number, other in enumerate(others):
            seed.pending(job_number(1000 + number), group=other.encode())
        case.body.drop()
        case.body.load(seed.ring(*ring, *others).state())
        before = _total(case.body)
        case.body.run(call)
        costs.append(_total(case.body) - before)
    assert costs[0] == costs[1]


def _total(body: LuaBody) -> int:
    stats = body.wire.ask("INFO", "commandstats")
    assert isinstance(stats, bytes)
    total = 0
    for line in stats.decode().splitlines():
        name = line.removeprefix("cmdstat_").split(":")[0].split("|")[0]
        if line.startswith("cmdstat_") and name not in ("time", "info", "evalsha", "eval", "script", "config"):
            total += int(line.split("calls=")[1].split(",")[0])
    return total


@pytest.mark.parametrize("name", [*O1, *LINEAR])
def test_rules_10_and_11_hold_after_every_move(case: Case, name: str) -> None:
    """The ring has each lane that can be served once and no other, and `lanes` has those with jobs."""
    seed, call = {**O1, **LINEAR}[name](case)
    case.given(with_others(seed) if "stale" not in name and not name.startswith(("gclaim", "gwclaim")) else seed)
    case.body.run(call)
    holds(case)


def holds(case: Case) -> None:
    """What rules 10 and 11 say of the whole state."""
    state, keys = case.body.dump(), case.keys

    def fields(key: bytes) -> dict[bytes, bytes]:
        entry = state.get(key)
        return {} if entry is None else dict(entry.value)  # type: ignore[arg-type]  # a hash

    lanes = {
        key[len(keys.base) + 2 : -len(b":pending")]: entry.value
        for key, entry in state.items()
        if key.startswith(keys.base + b"g:")
    }
    flying = {group: int(count) for group, count in fields(keys.group_active).items()}
    limits = {group: int(count) for group, count in fields(keys.group_limit).items()}
    parked = state[keys.paused].value if keys.paused in state else frozenset()
    ring = state[keys.ring].value if keys.ring in state else ()
    served = [g for g in lanes if g not in parked and flying.get(g, 0) < limits.get(g, 10**9)]
    assert sorted(ring) == sorted(served)
    live = state[keys.lanes].value if keys.lanes in state else {}
    assert set(live) == {*lanes, *flying}


# --- lanes that another program broke --------------------------------------------------------------------------------


BROKEN: dict[str, Callable[[Seed], Seed]] = {
    "missing": lambda seed: seed.ring(BLUE),
    "twice": lambda seed: seed.ring(RED, BLUE, RED),
    "all missing": lambda seed: seed.ring(),
    "parked": lambda seed: seed.parked(RED).ring(RED, BLUE),
    "full": lambda seed: seed.limit(RED, 1).in_flight(RED, 1).ring(RED, BLUE),
    "not live": lambda seed: seed.live(BLUE),
    "none live": lambda seed: seed.live(),
}


@pytest.mark.parametrize("how", BROKEN)
def test_rule_10_repair_mends_the_ring_and_the_list_of_lanes(case: Case, how: str) -> None:
    seed = case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=blue)
    seed.active(J4, 1, ends=1, group=red).in_flight(RED, 1)
    case.given(BROKEN[how](seed))
    cursor: str | None = None
    for _ in range(100):
        page = case.body.run(repair(case.keys, cursor=cursor))
        assert page.jobs == ()
        cursor = page.cursor
        if cursor is None:
            break
    holds(case)
    ring = case.body.dump()[case.keys.ring].value
    if how == "missing":
        assert ring == (blue, red)
    if how == "twice":
        assert ring == (red, blue)
    before = case.body.dump()
    case.body.run(repair(case.keys))
    assert case.body.dump() == before, "what is whole stays"


def test_rule_10_a_lane_whose_jobs_are_all_in_flight_leaves_the_ring_by_repair(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1, group=red).in_flight(RED, 1)
    case.given(seed.copy().ring(RED))
    case.body.run(repair(case.keys))
    case.shows(seed)


def test_rule_10_what_is_missing_on_the_ring_mends_itself_when_the_lane_next_fills(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).ring()
    case.given(seed)
    case.body.run(remove(case.keys, J1))
    case.body.run(genqueue(case.keys, J2, b"p", lane=RED))
    holds(case)


def test_rule_10_lanes_enter_in_the_order_in_which_the_script_meets_them(case: Case) -> None:
    names = ("c", "a", "b", "a", "c")
    jobs = [NewJob(job_number(9 - place), b"p", lane=name) for place, name in enumerate(names)]
    case.body.run(enqueue_many(case.keys, jobs))
    assert case.body.dump()[case.keys.ring].value == (b"c", b"a", b"b")
    seed = case.seed()
    for place, name in enumerate(names):
        seed.scheduled(job_number(9 - place), due=place - 9, group=name.encode())
    case.given(seed)
    case.body.run(promote(case.keys))
    assert case.body.dump()[case.keys.ring].value == (b"c", b"a", b"b")


def test_w06_w08_a_limit_lives_through_every_way_out_of_a_lease(case: Case) -> None:
    """A lane of limit 1 with two jobs never stops, and never has two in flight, whatever happens to the one."""
    ways: tuple[Callable[[Token], Call[object]], ...] = (
        lambda token: retry(case.keys, J1, token, delay_ms=0, max_attempts=99, error="e"),
        lambda token: delay(case.keys, J1, token, delay_ms=0),
        lambda token: release(case.keys, J1, token),
        lambda _: reap(case.keys),
    )
    case.given(case.seed().limit(RED, 1).pending(J1, group=red).pending(J2, group=red))
    for place, way in enumerate(ways):
        token = Token(place + 1)
        claimed = case.body.run(gclaim(case.keys, lease_ms=HOUR))
        assert getattr(claimed, "job", None) == J1
        holds(case)
        if way is ways[-1]:
            case.body.advance(1)
        case.body.run(way(token))
        holds(case)
        case.body.run(promote(case.keys))
        holds(case)
