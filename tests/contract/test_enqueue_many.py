"""enqueue_many: docs/wire.md, admission."""

from dataclasses import replace

import pytest

from echomq.errors import BadInput, KindRefused
from echomq.records import Duplicate, Enqueued, NewJob
from echomq.transitions.enqueue_many import enqueue_many
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3
from tests.harness.state import job_number


def test_all_jobs_are_admitted_in_one_step(case: Case) -> None:
    jobs = [NewJob(J2, b"two"), NewJob(J1, b"one", max_attempts=5)]
    after = case.seed().pending(J1, payload=b"one", max_attempts=5).pending(J2, payload=b"two")
    case.step(enqueue_many(case.keys, jobs), (Enqueued(J2), Enqueued(J1)), after)


def test_answers_stand_in_input_order_and_duplicates_change_nothing(case: Case) -> None:
    seed = case.seed().active(J2, 1, ends=1)
    case.given(seed)
    jobs = [NewJob(J3, b"3"), NewJob(J2, b"other"), NewJob(J1, b"1")]
    after = seed.pending(J3, payload=b"3").pending(J1, payload=b"1")
    case.step(enqueue_many(case.keys, jobs), (Enqueued(J3), Duplicate(J2), Enqueued(J1)), after)


def test_an_id_given_twice_is_a_duplicate_the_second_time(case: Case) -> None:
    jobs = [NewJob(J1, b"first"), NewJob(J1, b"second")]
    after = case.seed().pending(J1, payload=b"first")
    case.step(enqueue_many(case.keys, jobs), (Enqueued(J1), Duplicate(J1)), after)


def test_one_id_of_another_kind_refuses_all_and_is_named(case: Case) -> None:
    call = enqueue_many(case.keys, [NewJob(J1, b"1"), NewJob(J2, b"2")])
    alien = b"ORD" + J2[3:]
    mixed = replace(call, args=[alien if arg == J2 else arg for arg in call.args])
    case.refuses(mixed, KindRefused, match=f"EMQKIND {alien.decode()} is no job id")


def test_w04_a_skeleton_is_replaced(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), lock=b"1"))
    case.step(enqueue_many(case.keys, [NewJob(J1, b"x")]), (Enqueued(J1),), case.seed().pending(J1, payload=b"x"))


def test_one_broken_row_refuses_all(case: Case) -> None:
    case.given(case.seed().broken(J2))
    case.refuses_type(enqueue_many(case.keys, [NewJob(J1, b"1"), NewJob(J2, b"2")]), match=str(J2))


def test_w44_a_thousand_jobs_and_not_one_more(case: Case) -> None:
    jobs = [NewJob(job_number(n), b"x") for n in range(1, 1001)]
    after = case.seed()
    for job in jobs:
        after.pending(job.job, payload=b"x")
    case.step(enqueue_many(case.keys, jobs), tuple(Enqueued(job.job) for job in jobs), after)
    with pytest.raises(BadInput):
        enqueue_many(case.keys, [*jobs, NewJob(job_number(1001), b"x")])
