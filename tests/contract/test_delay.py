"""delay: protocol 4.8, rule 4 of docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.records import Delayed, Gone, Stale, Token
from echomq.resp.reply import ErrorReply
from echomq.transitions.delay import delay
from echomq.transitions.reap import reap
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, J1, J2, J3, RED
from tests.harness.state import HOUR


def test_the_job_waits_and_its_attempts_are_kept(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=1, last_error=b"kept")
    case.given(seed)
    case.step(delay(case.keys, J1, Token(2), delay_ms=3 * HOUR), Delayed(J1), seed.copy().scheduled(J1, due=3))


def test_at_is_taken_as_it_stands(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=1)
    case.given(seed)
    call = delay(case.keys, J1, Token(2), at_ms=case.body.at_ms(-5))
    case.step(call, Delayed(J1), seed.copy().scheduled(J1, due=-5))


def test_an_attempt_can_be_left_unspent(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=1)
    case.given(seed)
    call = delay(case.keys, J1, Token(2), delay_ms=HOUR, unspent=True)
    case.step(call, Delayed(J1), seed.copy().scheduled(J1, due=1, unspent=1))


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    call = delay(case.keys, J1, Token(1), delay_ms=HOUR)
    case.errs(published_form(call, J1, 2, b"in", HOUR), "EMQSTALE")
    case.errs(published_form(call, b"ORD" + J1[3:], 1, b"in", HOUR), "EMQKIND")
    case.replies(published_form(call, J1, 1, b"in", HOUR), 1)
    case.shows(case.seed().scheduled(J1, 1, due=1))
    gone = delay(case.keys, J2, Token(1), delay_ms=HOUR)
    case.replies(published_form(gone, J2, 1, b"in", HOUR), ErrorReply("EMQSTALE job gone"))


def test_gone_stale_and_skeleton(case: Case) -> None:
    case.given(case.seed().active(J1, 2, ends=1).fields(case.keys.job(J3), lock=b"1"))
    case.keeps(delay(case.keys, J1, Token(1), delay_ms=HOUR), Stale(J1))
    case.keeps(delay(case.keys, J2, Token(1), delay_ms=HOUR), Gone(J2))
    case.keeps(delay(case.keys, J3, Token(1), delay_ms=HOUR), Gone(J3))


def test_w06_the_lane_gets_its_slot_back(case: Case) -> None:
    red = RED.encode()
    seed = (
        case.seed()
        .active(J1, 1, ends=1, group=red)
        .pending(J2, group=red)
        .in_flight(RED, 1)
        .limit(RED, 1)
        .pending(J3, group=BLUE.encode())
    )
    case.given(seed)
    after = seed.copy().scheduled(J1, due=1).in_flight(RED, None).ring(BLUE, RED).wakes(1)
    case.step(delay(case.keys, J1, Token(1), delay_ms=HOUR), Delayed(J1), after)


def test_w06_after_a_lapse_the_job_leaves_its_ready_set(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=-1))
    case.body.run(reap(case.keys))
    case.step(delay(case.keys, J1, Token(1), delay_ms=HOUR), Delayed(J1), case.seed().scheduled(J1, 1, due=1).wakes(1))


def test_w06_after_a_lapse_a_grouped_job_leaves_its_lane(case: Case) -> None:
    seed = case.seed().pending(J1, 1, group=RED.encode())
    case.given(seed)
    call = delay(case.keys, J1, Token(1), delay_ms=HOUR)
    case.step(call, Delayed(J1), seed.copy().scheduled(J1, due=1))


def test_w09_who_is_not_the_holder_cannot_postpone(case: Case) -> None:
    case.given(case.seed().scheduled(J1, 1, due=1).dead(J2, 1).pending(J3, 0))
    case.keeps(delay(case.keys, J1, Token(1), delay_ms=5 * HOUR), Stale(J1))
    case.keeps(delay(case.keys, J2, Token(1), delay_ms=5 * HOUR), Stale(J2))
    call = delay(case.keys, J3, Token(1), delay_ms=5 * HOUR)
    case.errs(published_form(call, J3, 0, b"in", HOUR), "EMQSTALE")


def test_exactly_one_instant_is_given(case: Case) -> None:
    with pytest.raises(BadInput):
        delay(case.keys, J1, Token(1))
    with pytest.raises(BadInput):
        delay(case.keys, J1, Token(1), delay_ms=1, at_ms=1)


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).broken(J1))
    case.refuses_type(delay(case.keys, J1, Token(1), delay_ms=HOUR), match=str(J1))
