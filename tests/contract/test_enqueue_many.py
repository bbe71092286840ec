"""enqueue_many: docs/wire.md, admission."""

from dataclasses import replace

import pytest

from echomq.errors import BadInput, KindRefused, ServerError
from echomq.records import Duplicate, Enqueued, NewJob
from echomq.transitions.enqueue_many import enqueue_many
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, RED
from tests.harness.state import job_number

red, blue = RED.encode(), BLUE.encode()


def test_all_jobs_are_admitted_in_one_step(case: Case) -> None:
    jobs = [NewJob(J2, b"two"), NewJob(J1, b"one", max_attempts=5)]
    after = case.seed().pending(J1, payload=b"one", max_attempts=5).pending(J2, payload=b"two").wakes(2)
    case.step(enqueue_many(case.keys, jobs), (Enqueued(J2), Enqueued(J1)), after)


def test_answers_stand_in_input_order_and_duplicates_change_nothing(case: Case) -> None:
    seed = case.seed().active(J2, 1, ends=1)
    case.given(seed)
    jobs = [NewJob(J3, b"3"), NewJob(J2, b"other"), NewJob(J1, b"1")]
    after = seed.pending(J3, payload=b"3").pending(J1, payload=b"1").wakes(2)
    case.step(enqueue_many(case.keys, jobs), (Enqueued(J3), Duplicate(J2), Enqueued(J1)), after)


def test_an_id_given_twice_is_a_duplicate_the_second_time(case: Case) -> None:
    jobs = [NewJob(J1, b"first"), NewJob(J1, b"second")]
    after = case.seed().pending(J1, payload=b"first").wakes(1)
    case.step(enqueue_many(case.keys, jobs), (Enqueued(J1), Duplicate(J1)), after)


def test_one_id_of_another_kind_refuses_all_and_is_named(case: Case) -> None:
    call = enqueue_many(case.keys, [NewJob(J1, b"1"), NewJob(J2, b"2")])
    alien = b"ORD" + J2[3:]
    mixed = replace(call, args=[alien if arg == J2 else arg for arg in call.args])
    case.refuses(mixed, KindRefused, match=f"EMQKIND {alien.decode()} is no job id")


def test_w04_a_skeleton_is_replaced(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), lock=b"1"))
    case.step(
        enqueue_many(case.keys, [NewJob(J1, b"x")]), (Enqueued(J1),), case.seed().pending(J1, payload=b"x").wakes(1)
    )


def test_one_broken_row_refuses_all(case: Case) -> None:
    case.given(case.seed().broken(J2))
    case.refuses_type(enqueue_many(case.keys, [NewJob(J1, b"1"), NewJob(J2, b"2")]), match=str(J2))


def test_w44_a_thousand_jobs_and_not_one_more(case: Case) -> None:
    jobs = [NewJob(job_number(n), b"x") for n in range(1, 1001)]
    after = case.seed().wakes(1000)
    for job in jobs:
        after.pending(job.job, payload=b"x")
    case.step(enqueue_many(case.keys, jobs), tuple(Enqueued(job.job) for job in jobs), after)
    with pytest.raises(BadInput):
        enqueue_many(case.keys, [*jobs, NewJob(job_number(1001), b"x")])


# --- into lanes -------------------------------------------------------------------------------------------------------


def test_each_job_goes_to_its_own_lane_or_to_the_flat_set(case: Case) -> None:
    seed = case.seed().pending(J4, group=blue)
    case.given(seed)
    jobs = [NewJob(J3, b"3", lane=RED), NewJob(J2, b"2"), NewJob(J1, b"1", 5, RED), NewJob(J5, b"5", lane=BLUE)]
    after = seed.copy().pending(J3, payload=b"3", group=red).pending(J2, payload=b"2")
    after.pending(J1, payload=b"1", group=red, max_attempts=5).pending(J5, payload=b"5", group=blue).wakes(3, 1)
    case.step(enqueue_many(case.keys, jobs), tuple(Enqueued(job.job) for job in jobs), after)


def test_a_job_that_exists_in_another_lane_stays_there(case: Case) -> None:
    case.given(case.seed().pending(J1, group=blue))
    case.keeps(enqueue_many(case.keys, [NewJob(J1, b"x", lane=RED)]), (Duplicate(J1),))


def test_a_full_or_parked_lane_takes_its_jobs_and_wakes_nobody(case: Case) -> None:
    seed = case.seed().parked(RED).limit(BLUE, 1).in_flight(BLUE, 1)
    case.given(seed)
    jobs = [NewJob(J1, b"1", lane=RED), NewJob(J2, b"2", lane=BLUE)]
    after = seed.copy().pending(J1, payload=b"1", group=red).pending(J2, payload=b"2", group=blue)
    case.step(enqueue_many(case.keys, jobs), (Enqueued(J1), Enqueued(J2)), after)


def test_rule_3_one_damaged_lane_refuses_all_and_is_named(case: Case) -> None:
    seed = case.seed().string(case.keys.lane(RED), b"another program's")
    case.given(seed)
    jobs = [NewJob(J1, b"1", lane=BLUE), NewJob(J2, b"2", lane=RED)]
    case.refuses_type(enqueue_many(case.keys, jobs), match=RED)
    garbled = case.seed().fields(case.keys.group_active, **{RED: b"many"})
    case.given(garbled)
    case.refuses(enqueue_many(case.keys, jobs), ServerError, match="is not a whole number")


def test_w44_a_thousand_jobs_into_a_thousand_lanes(case: Case) -> None:
    jobs = [NewJob(job_number(n), b"x", lane=f"lane{n}") for n in range(1, 1001)]
    case.body.run(enqueue_many(case.keys, jobs))
    state = case.body.dump()
    assert state[case.keys.ring].value == tuple(b"lane%d" % n for n in range(1, 1001))
    assert set(state[case.keys.lanes].value) == {b"lane%d" % n for n in range(1, 1001)}
    tokens = state[case.keys.wake].value
    assert isinstance(tokens, tuple)
    assert tokens == (b"937", *[b"1"] * 63)
