"""reap: protocol 4.10, rules 2, 3, 5, 7 and 9 of docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.records import Reaped
from echomq.transitions.reap import reap
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, GRANDPARENT, J1, J2, J3, J4, J5, PARENT, RED
from tests.harness.state import job_number

NOTHING = Reaped((), (), (), more=False)


def lapsed(attempt: int) -> bytes:
    return b"lease lapsed on attempt %d, and no attempt is left" % attempt


def test_a_lapsed_lease_makes_its_job_ready_with_the_token_unchanged(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=-1, payload=b"kept").active(J2, 1, ends=1).pending(J3)
    case.given(seed)
    case.step(reap(case.keys), Reaped((J1,), (), (), more=False), seed.copy().pending(J1).wakes(1))


def test_time_lapses_a_lease(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=2)
    case.given(seed)
    case.body.advance(1)
    case.keeps(reap(case.keys), NOTHING)
    case.body.advance(1)
    case.step(reap(case.keys), Reaped((J1,), (), (), more=False), seed.copy().pending(J1).wakes(1))


def test_the_limit_takes_the_earliest_and_says_that_more_may_be_there(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-1).active(J2, 1, ends=-3).active(J3, 1, ends=-2)
    case.given(seed)
    case.step(reap(case.keys, limit=2), Reaped((J2, J3), (), (), more=True), seed.pending(J2).pending(J3).wakes(2))
    case.step(reap(case.keys, limit=2), Reaped((J1,), (), (), more=False), seed.copy().pending(J1))


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().active(J1, 50, ends=-1).active(J2, 1, ends=-1))
    call = published_form(reap(case.keys), case.keys.base)
    case.replies(call, 2)
    case.replies(call, 0)
    case.shows(case.seed().pending(J1, 50).pending(J2, 1).wakes(2))


def test_without_a_limit_a_hundred_are_reaped(case: Case) -> None:
    seed = case.seed()
    for number in range(1, 102):
        seed.active(job_number(number), 1, ends=-1)
    case.given(seed)
    case.replies(published_form(reap(case.keys), case.keys.base), 100)


def test_the_raw_reply_with_ids(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-4).active(J2, 3, ends=-3).active(J4, 1, ends=-1).broken(J4)
    case.given(seed.member(case.keys.active, J3, -2))
    case.replies(reap(case.keys, max_attempts=3), [b"reaped", 4, [J1], [J2, J4], [J3]])


def test_w20_a_job_that_kills_its_workers_dies_at_the_callers_cap(case: Case) -> None:
    seed = case.seed().active(J1, 3, ends=-2).active(J2, 2, ends=-1).failed(1)
    case.given(seed)
    after = seed.copy().dead(J1, last_error=lapsed(3), died_at=0).pending(J2).failed(2).wakes(1)
    case.step(reap(case.keys, max_attempts=3), Reaped((J2,), (J1,), (), more=False), after)


def test_w20_the_jobs_own_cap_wins_and_needs_no_caller(case: Case) -> None:
    seed = case.seed().active(J1, 3, ends=-2, max_attempts=9).active(J2, 2, ends=-1, max_attempts=2)
    case.given(seed)
    after = seed.copy().pending(J1).dead(J2, last_error=lapsed(2), died_at=0).failed(1).wakes(1)
    case.step(reap(case.keys, max_attempts=3), Reaped((J1,), (J2,), (), more=False), after)
    case.given(seed)
    case.step(reap(case.keys), Reaped((J1,), (J2,), (), more=False), after)


def test_w20_without_any_cap_nobody_dies(case: Case) -> None:
    case.given(case.seed().active(J1, 1000, ends=-1))
    case.step(reap(case.keys), Reaped((J1,), (), (), more=False), case.seed().pending(J1, 1000).wakes(1))


def test_unspent_attempts_do_not_count_against_the_cap(case: Case) -> None:
    seed = case.seed().active(J1, 4, ends=-1, unspent=2)
    case.given(seed)
    case.step(reap(case.keys, max_attempts=3), Reaped((J1,), (), (), more=False), seed.copy().pending(J1).wakes(1))


def test_w04_ghosts_and_skeletons_are_dropped_and_never_written_to(case: Case) -> None:
    seed = case.seed().fields(case.keys.job(J2), lock=b"1", parent_policy=b"fp")
    case.given(seed.copy().member(case.keys.active, J1, -2).member(case.keys.active, J2, -1))
    case.step(reap(case.keys, max_attempts=1), Reaped((), (), (J1, J2), more=False), seed)


def test_a_broken_row_goes_to_dead_and_the_rest_is_recovered(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-2).broken(J1).active(J2, 1, ends=-1)
    case.given(seed)
    shown = case.body.run(reap(case.keys, max_attempts=3))
    assert shown == Reaped((J2,), (J1,), (), more=False)
    after = seed.copy().out(J1).member(case.keys.dead, J1, 0).pending(J2).wakes(1)
    case.shows(after)


def test_grouped_jobs_go_back_to_their_lane_and_free_their_slot(case: Case) -> None:
    red = RED.encode()
    seed = (
        case.seed().active(J1, 1, ends=-2, group=red).active(J2, 1, ends=-1, group=red).pending(J3, group=BLUE.encode())
    )
    seed.in_flight(RED, 2).limit(RED, 2)
    case.given(seed)
    after = seed.copy().pending(J1).pending(J2).in_flight(RED, None).wakes(1, 1)
    case.step(reap(case.keys), Reaped((J1, J2), (), (), more=False), after)


def test_a_grouped_death_frees_the_slot_for_the_backlog(case: Case) -> None:
    red = RED.encode()
    seed = case.seed().active(J1, 3, ends=-1, group=red).pending(J2, group=red).in_flight(RED, 1).limit(RED, 1)
    case.given(seed)
    after = seed.copy().dead(J1, last_error=lapsed(3), died_at=0).failed(1).in_flight(RED, None).wakes(1)
    case.step(reap(case.keys, max_attempts=3), Reaped((), (J1,), (), more=False), after)


def test_a_parked_group_gets_its_jobs_back_off_the_ring(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-1, group=RED.encode()).in_flight(RED, 1).parked(RED)
    case.given(seed)
    case.step(reap(case.keys), Reaped((J1,), (), (), more=False), seed.copy().pending(J1).in_flight(RED, None))


def test_w14_a_child_that_dies_of_its_lapses_fails_its_parent(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children", parent=GRANDPARENT).string(row + b":dependencies", b"2")
    case.given(seed.active(J1, 3, ends=-1, parent=PARENT))
    assert case.body.run(reap(case.keys, max_attempts=3)) == Reaped((), (J1,), (), more=False)
    shown = case.body.dump()
    assert shown[case.keys.dead].value == {J1: 0, PARENT: 0}
    assert shown[row + b":failed"].value == {J1: lapsed(3)}
    entry = b"\0".join([b"", b"fail", case.keys.queue.encode(), GRANDPARENT, PARENT, b"fp", lapsed(3)])
    assert shown[case.keys.flow_outbox].value == (entry,)


def test_w14_an_ignored_death_of_its_lapses_satisfies_the_parent(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"1")
    seed.active(J1, 3, ends=-1, parent=PARENT, parent_policy=b"id")
    case.given(seed)
    after = seed.copy().dead(J1, last_error=lapsed(3), died_at=0).failed(1).pending(PARENT).wakes(1)
    after.string(row + b":dependencies", b"0").fields(row + b":unsuccessful", **{J1.decode(): lapsed(3)})
    case.step(reap(case.keys, max_attempts=3), Reaped((), (J1,), (), more=False), after)


def test_w14_a_parent_elsewhere_gets_a_failure_entry(case: Case) -> None:
    seed = case.seed().active(J1, 3, ends=-1, parent=PARENT, parent_queue=b"other", parent_policy=b"id")
    case.given(seed)
    entry = b"\0".join([b"", b"fail", b"other", PARENT, J1, b"id", lapsed(3)])
    after = seed.copy().dead(J1, last_error=lapsed(3), died_at=0).failed(1).lines(case.keys.flow_outbox, entry)
    case.step(reap(case.keys, max_attempts=3), Reaped((), (J1,), (), more=False), after)


def test_a_recovered_job_is_not_a_stalled_one(case: Case) -> None:
    seed = case.seed().active(J5, 1, ends=-1, stalled=2)
    case.given(seed)
    case.step(reap(case.keys), Reaped((J5,), (), (), more=False), seed.copy().pending(J5).wakes(1))


@pytest.mark.parametrize("limit", [0, 1001])
def test_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        reap(case.keys, limit=limit)
