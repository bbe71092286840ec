"""schedule, with its handles enqueue_at and enqueue_in: protocol 4.2."""

import pytest

from echomq.errors import BadInput, InvalidName
from echomq.records import Duplicate, PromotedMany, Scheduled
from echomq.transitions.promote import promote
from echomq.transitions.schedule import enqueue_at, enqueue_in
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2, RED
from tests.harness.state import HOUR

red = RED.encode()


def test_in_counts_from_the_servers_clock(case: Case) -> None:
    case.body.advance(3)
    after = case.seed().scheduled(J1, due=5, payload=b"x").wakes(1)
    case.step(enqueue_in(case.keys, J1, b"x", delay_ms=2 * HOUR), Scheduled(J1), after)


def test_at_is_taken_as_it_stands(case: Case) -> None:
    call = enqueue_at(case.keys, J1, b"x", at_ms=case.body.at_ms(4), max_attempts=9)
    case.step(call, Scheduled(J1), case.seed().scheduled(J1, due=4, payload=b"x", max_attempts=9).wakes(1))


def test_an_instant_in_the_past_is_due_at_once(case: Case) -> None:
    call = enqueue_at(case.keys, J1, b"x", at_ms=case.body.at_ms(-2))
    case.step(call, Scheduled(J1), case.seed().scheduled(J1, due=-2, payload=b"x").wakes(1))
    assert case.body.run(promote(case.keys)).count == 1
    case.shows(case.seed().pending(J1, payload=b"x").wakes(1))


def test_a_duplicate_keeps_its_payload_and_its_instant(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=1))
    case.keeps(enqueue_in(case.keys, J1, b"other", delay_ms=5 * HOUR), Duplicate(J1))
    case.given(case.seed().pending(J1))
    case.keeps(enqueue_in(case.keys, J1, b"other", delay_ms=5 * HOUR), Duplicate(J1))


def test_published_arguments_and_replies(case: Case) -> None:
    call = enqueue_in(case.keys, J1, b"x", delay_ms=HOUR)
    case.replies(published_form(call, J1, b"x", b"in", HOUR), 1)
    case.replies(published_form(call, J1, b"x", b"in", HOUR), 0)
    case.errs(published_form(call, b"ORD" + J1[3:], b"x", b"in", HOUR), "EMQKIND")
    case.shows(case.seed().scheduled(J1, due=1, payload=b"x").wakes(1))
    at = published_form(enqueue_in(case.keys, J2, b"x", delay_ms=HOUR), J2, b"y", b"at", case.body.at_ms(7))
    case.replies(at, 1)
    case.shows(case.seed().scheduled(J1, due=1, payload=b"x").scheduled(J2, due=7, payload=b"y").wakes(1))


def test_w04_a_skeleton_is_replaced(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), lock=b"1"))
    call = enqueue_in(case.keys, J1, b"x", delay_ms=HOUR)
    case.step(call, Scheduled(J1), case.seed().scheduled(J1, due=1, payload=b"x").wakes(1))


def test_a_broken_row_is_answered_wrongtype_and_stays(case: Case) -> None:
    case.given(case.seed().broken(J1))
    case.refuses_type(enqueue_in(case.keys, J1, b"x", delay_ms=HOUR))


def test_a_negative_delay_is_refused_before_the_wire(case: Case) -> None:
    with pytest.raises(BadInput):
        enqueue_in(case.keys, J1, b"x", delay_ms=-1)
    with pytest.raises(BadInput):
        enqueue_at(case.keys, J1, b"x", at_ms=-1)


# --- into lanes -------------------------------------------------------------------------------------------------------


def test_a_lane_is_a_field_of_the_row_until_it_is_due(case: Case) -> None:
    seed = case.seed().scheduled(J1, due=2, payload=b"x", group=red).wakes(1)
    case.step(enqueue_in(case.keys, J1, b"x", delay_ms=2 * HOUR, lane=RED), Scheduled(J1), seed)
    case.body.advance(2)
    case.body.delete([case.keys.wake])
    case.step(promote(case.keys), PromotedMany(1, more=False), seed.copy().pending(J1).wakes(1))


def test_at_an_instant_into_a_lane_with_a_cap(case: Case) -> None:
    call = enqueue_at(case.keys, J1, b"x", at_ms=case.body.at_ms(4), max_attempts=9, lane="acme@eu")
    after = case.seed().scheduled(J1, due=4, payload=b"x", max_attempts=9, group=b"acme@eu").wakes(1)
    case.step(call, Scheduled(J1), after)


def test_a_lane_has_its_characters(case: Case) -> None:
    with pytest.raises(InvalidName):
        enqueue_in(case.keys, J1, b"x", delay_ms=1, lane="a b")
