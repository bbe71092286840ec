"""drain: protocol 4.18.3, rules 6 and 8 of docs/wire.md."""

from dataclasses import replace

import pytest

from echomq.errors import BadInput
from echomq.records import Drained
from echomq.transitions.drain import drain
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4, J5, J6, RED
from tests.harness.state import job_number


def test_the_waiting_go_and_the_others_stay(case: Case) -> None:
    seed = case.seed().active(J3, 1, ends=1).scheduled(J4, due=1).dead(J5).pending(J6, group=RED.encode())
    row = case.keys.job(J1)
    full = seed.copy().pending(J1).pending(J2).lines(row + b":logs", b"a").fields(row + b":processed", x=b"1")
    case.given(full.string(row + b":dependencies", b"1").string(row + b":lock", b"1", ttl=1))
    case.step(drain(case.keys), Drained(2, more=False), seed)


def test_the_scheduled_go_when_asked(case: Case) -> None:
    seed = case.seed().active(J3, 1, ends=1)
    case.given(seed.copy().pending(J1).scheduled(J4, due=1).scheduled(J5, due=-1))
    case.step(drain(case.keys, schedule=True), Drained(3, more=False), seed)


def test_w44_the_oldest_go_first_in_bounded_slices(case: Case) -> None:
    seed = case.seed().pending(J1).pending(J2).pending(J3).scheduled(J4, due=1)
    case.given(seed)
    case.step(drain(case.keys, schedule=True, limit=2), Drained(2, more=True), seed.forget(J1).forget(J2))
    case.step(drain(case.keys, schedule=True, limit=2), Drained(2, more=True), case.seed())
    case.keeps(drain(case.keys, schedule=True, limit=2), Drained(0, more=False))


def test_w04_ghosts_go_too(case: Case) -> None:
    case.given(case.seed().member(case.keys.pending, J1, 0))
    case.step(drain(case.keys), Drained(1, more=False), case.seed())


def test_broken_rows_go_too(case: Case) -> None:
    case.given(case.seed().pending(J1).broken(J1).pending(J2))
    case.step(drain(case.keys), Drained(2, more=False), case.seed())


def test_published_arguments_and_replies_are_bounded(case: Case) -> None:
    seed = case.seed()
    for number in range(1, 1002):
        seed.pending(job_number(number))
    case.given(seed)
    call = replace(drain(case.keys), keys=[case.keys.base, case.keys.pending], args=[])
    case.replies(call, 1000)
    case.replies(call, 1)
    case.replies(call, 0)
    case.shows(case.seed())


@pytest.mark.parametrize("limit", [0, 1001])
def test_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        drain(case.keys, limit=limit)
