"""Rule 12 of docs/wire.md: whoever makes jobs servable leaves one wake-up for each, and never more."""

from collections.abc import Callable

import pytest

from echomq.records import Completion, NewJob, Scheduled, Token
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.delay import delay
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.gclaim import gclaim
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gresume import gresume
from echomq.transitions.promote import promote
from echomq.transitions.promote_now import promote_now
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.repair import repair
from echomq.transitions.reprocess import reprocess
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_at, enqueue_in
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4, PARENT, RED
from tests.harness.published import as_published
from tests.harness.state import HOUR, Seed, job_number

ONE = Token(1)
red = RED.encode()
Build = Callable[[Case], tuple[Seed, Call[object]]]


def tokens(case: Case) -> tuple[int, ...]:
    entry = case.body.dump().get(case.keys.wake)
    assert entry is None or isinstance(entry.value, tuple)
    return () if entry is None else tuple(int(token) for token in entry.value if isinstance(token, bytes))


def parent(case: Case) -> Seed:
    row = case.keys.job(PARENT)
    return case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"1")


def scheduled(case: Case, count: int) -> Seed:
    seed = case.seed()
    for number in range(1, count + 1):
        seed.scheduled(job_number(number), due=-1)
    return seed


# Each makes so many jobs servable.
FLAT: dict[str, tuple[Build, int]] = {
    "enqueue": (lambda c: (c.seed(), enqueue(c.keys, J1, b"p")), 1),
    "enqueue to more": (lambda c: (c.seed().pending(J2), enqueue(c.keys, J1, b"p")), 1),
    "enqueue_many": (lambda c: (c.seed(), enqueue_many(c.keys, [NewJob(J1, b""), NewJob(J2, b"")])), 2),
    "enqueue_many with a duplicate": (
        lambda c: (c.seed().active(J1, 1, ends=1), enqueue_many(c.keys, [NewJob(J1, b""), NewJob(J2, b"")])),
        1,
    ),
    "release": (lambda c: (c.seed().active(J1, 1, ends=1), release(c.keys, J1, ONE)), 1),
    "promote": (lambda c: (scheduled(c, 7), promote(c.keys, limit=5)), 5),
    "promote_now": (lambda c: (c.seed().scheduled(J1, due=1), promote_now(c.keys, J1)), 1),
    "reap": (lambda c: (c.seed().active(J1, 1, ends=-1).active(J2, 3, ends=-1), reap(c.keys, max_attempts=3)), 1),
    "reprocess": (lambda c: (c.seed().dead(J1), reprocess(c.keys, J1)), 1),
    "reprocess_many": (lambda c: (c.seed().dead(J1).dead(J2).dead(J3), reprocess_many(c.keys)), 3),
    "repair": (lambda c: (c.seed().row(J1, state=b"active"), repair(c.keys)), 1),
    "a parent released": (lambda c: (parent(c).active(J1, 1, ends=1, parent=PARENT), complete(c.keys, J1, ONE)), 1),
}

NOBODY: dict[str, Build] = {
    "enqueue a duplicate": lambda c: (c.seed().pending(J1), enqueue(c.keys, J1, b"p")),
    "complete": lambda c: (c.seed().active(J1, 1, ends=1).pending(J2), complete(c.keys, J1, ONE)),
    "retry": lambda c: (
        c.seed().active(J1, 1, ends=1).pending(J2),
        retry(c.keys, J1, ONE, delay_ms=HOUR, max_attempts=3, error="e"),
    ),
    "retry to death": lambda c: (
        c.seed().active(J1, 1, ends=1).pending(J2),
        retry(c.keys, J1, ONE, delay_ms=HOUR, max_attempts=1, error="e"),
    ),
    "delay": lambda c: (c.seed().active(J1, 1, ends=1), delay(c.keys, J1, ONE, delay_ms=HOUR)),
    "remove": lambda c: (c.seed().pending(J1).pending(J2), remove(c.keys, J1)),
    "claim": lambda c: (c.seed().pending(J1).pending(J2), claim(c.keys, lease_ms=HOUR)),
    "claim_many": lambda c: (c.seed().pending(J1).pending(J2), claim_many(c.keys, lease_ms=HOUR, size=1)),
    "gclaim": lambda c: (c.seed().pending(J1, group=red).pending(J2, group=red), gclaim(c.keys, lease_ms=HOUR)),
    "promote ghosts": lambda c: (c.seed().member(c.keys.schedule, J1, -1), promote(c.keys)),
    "a parent not yet released": lambda c: (
        parent(c).string(c.keys.job(PARENT) + b":dependencies", b"2").active(J1, 1, ends=1, parent=PARENT),
        complete(c.keys, J1, ONE),
    ),
    "complete in a lane with room": lambda c: (
        c.seed().active(J1, 1, ends=1, group=red).in_flight(RED, 1).pending(J2, group=red),
        complete(c.keys, J1, ONE),
    ),
}


@pytest.mark.parametrize("name", FLAT)
def test_rule_12_jobs_that_join_the_flat_set_leave_one_token_of_their_number(case: Case, name: str) -> None:
    build, worth = FLAT[name]
    seed, call = build(case)
    case.given(seed)
    case.body.run(call)
    assert tokens(case) == (worth,)


@pytest.mark.parametrize("name", FLAT)
def test_rule_12_a_token_that_lies_there_says_that_nobody_is_parked(case: Case, name: str) -> None:
    seed, call = FLAT[name][0](case)
    case.given(seed.wakes(1))
    case.body.run(call)
    assert tokens(case) == (1,)


@pytest.mark.parametrize("name", NOBODY)
def test_rule_12_what_makes_no_job_servable_wakes_nobody(case: Case, name: str) -> None:
    seed, call = NOBODY[name](case)
    case.given(seed)
    case.body.run(call)
    assert tokens(case) == ()


def test_the_published_enqueue_of_two_keys_does_exactly_the_four_published_moves(case: Case) -> None:
    case.replies(as_published(enqueue(case.keys, J1, b"x"), case.keys), 1)
    fields = {b"state": b"pending", b"attempts": b"0", b"payload": b"x"}
    state = case.body.dump()
    assert set(state) == {case.keys.job(J1), case.keys.pending}
    assert state[case.keys.job(J1)].value == fields
    assert state[case.keys.pending].value == {J1: 0}
    case.replies(as_published(enqueue(case.keys, J1, b"y"), case.keys), 0)
    assert case.body.dump() == state


def test_the_published_schedule_of_two_keys_wakes_nobody(case: Case) -> None:
    case.replies(as_published(enqueue_in(case.keys, J1, b"x", delay_ms=HOUR), case.keys), 1)
    case.shows(case.seed().scheduled(J1, due=1, payload=b"x"))


def test_rule_12_the_tokens_of_lanes_and_what_they_do_not_cover(case: Case) -> None:
    """Two lanes enter with three and one job, and two jobs join the flat set: six wake-ups in three tokens."""
    jobs = [NewJob(job_number(number), b"", lane="a") for number in (1, 2, 3)]
    jobs += [NewJob(job_number(4), b"", lane="b"), NewJob(job_number(5), b""), NewJob(job_number(6), b"")]
    case.body.run(enqueue_many(case.keys, jobs))
    assert tokens(case) == (4, 1, 1)
    case.body.drop()
    case.given(case.seed().wakes(2))
    case.body.run(enqueue_many(case.keys, jobs))
    assert tokens(case) == (1, 1, 2)


def test_rule_12_what_the_list_has_no_room_for_is_in_the_one_token_more(case: Case) -> None:
    jobs = [NewJob(job_number(number), b"", lane=f"l{number}") for number in range(1, 101)]
    case.body.run(enqueue_many(case.keys, jobs))
    assert len(tokens(case)) == 64
    assert sum(tokens(case)) == 100


def test_rule_12_the_one_token_more_is_worth_at_most_a_thousand(case: Case) -> None:
    lane = case.seed()
    for number in range(1, 1502):
        lane.pending(job_number(number), group=red)
    case.given(lane.copy().parked(RED))
    case.body.run(gresume(case.keys, RED))
    assert tokens(case) == (1000, 1)
    seed = case.seed().pending(job_number(1))
    jobs = [NewJob(job_number(number), b"") for number in range(2, 1002)]
    case.given(seed)
    case.body.run(enqueue_many(case.keys, jobs))
    assert tokens(case) == (1000,)


def test_rule_12_a_lane_that_enters_is_worth_its_servable_jobs(case: Case) -> None:
    seed = case.seed().limit(RED, 3).in_flight(RED, 1)
    case.given(seed)
    case.body.run(enqueue_many(case.keys, [NewJob(job_number(number), b"", lane=RED) for number in range(1, 10)]))
    assert sum(tokens(case)) == 2


def test_rule_12_a_scheduled_job_that_is_now_the_first_wakes_one_to_watch_for_it(case: Case) -> None:
    case.step(
        enqueue_in(case.keys, J1, b"p", delay_ms=5 * HOUR), Scheduled(J1), case.seed().scheduled(J1, due=5).wakes(1)
    )
    case.body.delete([case.keys.wake])
    case.body.run(enqueue_in(case.keys, J2, b"p", delay_ms=6 * HOUR))
    assert tokens(case) == (), "it is not the first"
    case.body.run(enqueue_at(case.keys, J3, b"p", at_ms=case.body.at_ms(4)))
    assert tokens(case) == (1,)
    case.body.run(enqueue_at(case.keys, J4, b"p", at_ms=case.body.at_ms(3)))
    assert tokens(case) == (1,), "a token lies there"


# --- the ceiling ------------------------------------------------------------------------------------------------------


def test_rule_12_several_reasons_of_one_script_are_not_added_up(case: Case) -> None:
    """A release makes one job servable and one seat free: one worker has something to do, not two."""
    case.given(at_the_ceiling(case, waits=0))
    case.body.run(release(case.keys, J1, ONE))
    assert tokens(case) == (1,)
    lapsed = at_the_ceiling(case, ends=-1).active(J1, 3, ends=-1).active(J2, 3, ends=-1)
    case.given(lapsed)
    case.body.run(reap(case.keys, max_attempts=3))
    assert sum(tokens(case)) == 3, "two died and one is ready again: three seats"


def at_the_ceiling(case: Case, *, waits: int = 9, ceiling: int = 3, active: int = 3, ends: int = 1) -> Seed:
    seed = case.seed().concurrency(ceiling)
    for number in range(1, active + 1):
        seed.active(job_number(number), 1, ends=ends)
    for number in range(101, 101 + waits):
        seed.pending(job_number(number), group=red)
    return seed


ENDINGS: dict[str, Callable[[Case], Call[object]]] = {
    "complete": lambda c: complete(c.keys, J1, ONE),
    "complete_many": lambda c: complete_many(c.keys, [Completion(J1, ONE)]),
    "retry": lambda c: retry(c.keys, J1, ONE, delay_ms=HOUR, max_attempts=3, error="e"),
    "retry to death": lambda c: retry(c.keys, J1, ONE, delay_ms=HOUR, max_attempts=1, error="e"),
    "delay": lambda c: delay(c.keys, J1, ONE, delay_ms=HOUR),
    "release": lambda c: release(c.keys, J1, ONE),
    "remove": lambda c: remove(c.keys, J1),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_the_ceiling_a_lease_that_ends_under_it_wakes_one(case: Case, name: str) -> None:
    case.given(at_the_ceiling(case))
    case.body.run(ENDINGS[name](case))
    assert tokens(case) == (1,)


@pytest.mark.parametrize("name", [name for name in ENDINGS if name != "release"])
def test_the_ceiling_a_lease_that_ends_below_it_wakes_one_as_well(case: Case, name: str) -> None:
    """Seats that became free one after the other: who was woken for the first ones may leave these to nobody."""
    case.given(at_the_ceiling(case, ceiling=40))
    case.body.run(ENDINGS[name](case))
    assert tokens(case) == (1,)


@pytest.mark.parametrize("name", [name for name in ENDINGS if name != "release"])
def test_the_ceiling_without_it_or_nothing_to_serve_or_a_token_there_nobody_is_woken(case: Case, name: str) -> None:
    for seed in (
        at_the_ceiling(case, waits=0),
        at_the_ceiling(case, ceiling=1),
        at_the_ceiling(case).drop(case.keys.meta),
    ):
        case.given(seed)
        case.body.run(ENDINGS[name](case))
        assert tokens(case) == ()
    case.given(at_the_ceiling(case).wakes(2))
    case.body.run(ENDINGS[name](case))
    assert tokens(case) == (2,)


def test_the_ceiling_several_leases_that_end_wake_as_many_as_there_are_seats(case: Case) -> None:
    items = [Completion(job_number(number), ONE) for number in (1, 2, 3)]
    case.given(at_the_ceiling(case))
    case.body.run(complete_many(case.keys, items))
    assert tokens(case) == (3,)
    case.given(at_the_ceiling(case, active=4))
    case.body.run(complete_many(case.keys, items))
    assert tokens(case) == (2,), "one more was in flight than the ceiling allows"


def test_the_ceiling_lapsed_leases_are_ended_ones(case: Case) -> None:
    case.given(at_the_ceiling(case, waits=0, ends=-1))
    case.body.run(reap(case.keys))
    assert sum(tokens(case)) == 3
    case.given(at_the_ceiling(case, waits=5, ends=-1))
    case.body.run(reap(case.keys, max_attempts=1))
    assert sum(tokens(case)) == 3


def test_rule_12_a_lane_on_the_ring_that_can_serve_more_wakes_for_what_is_more(case: Case) -> None:
    def on_the_ring() -> Seed:
        seed = case.seed().limit(RED, 3)
        for number in range(101, 106):
            seed.pending(job_number(number), group=red)
        return seed.active(J1, 1, ends=1, group=red).in_flight(RED, 1)

    case.given(on_the_ring())
    case.body.run(glimit(case.keys, RED, 4))
    assert tokens(case) == (1,), "two seats were free and three are"
    case.given(on_the_ring())
    case.body.run(glimit(case.keys, RED, None))
    assert tokens(case) == (3,), "two could be served and five can"
    case.given(on_the_ring())
    case.body.run(complete(case.keys, J1, ONE))
    assert tokens(case) == (1,)
    case.given(on_the_ring())
    case.body.run(genqueue(case.keys, J2, b"x", lane=RED))
    assert tokens(case) == (), "more wait, and no more can be served"
