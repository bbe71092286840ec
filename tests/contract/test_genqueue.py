"""genqueue: protocol 4.16.1, and rules 10 to 12 of docs/wire.md."""

import pytest

from echomq.errors import InvalidName, InvalidOption, InvalidPayload
from echomq.records import Duplicate, Enqueued
from echomq.transitions.genqueue import genqueue
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, J1, J2, J3, RED
from tests.harness.published import as_published

red, blue = RED.encode(), BLUE.encode()


def test_a_fresh_row_has_exactly_the_four_fields_and_waits_in_its_lane(case: Case) -> None:
    after = case.seed().pending(J1, 0, payload=b"hello", group=red).wakes(1)
    case.step(genqueue(case.keys, J1, b"hello", lane=RED), Enqueued(J1), after)


def test_a_cap_of_its_own_is_a_fifth_field(case: Case) -> None:
    after = case.seed().pending(J1, 0, payload=b"x", group=red, max_attempts=7).wakes(1)
    case.step(genqueue(case.keys, J1, b"x", lane=RED, max_attempts=7), Enqueued(J1), after)


def test_the_published_seven_keys_do_exactly_the_published_moves(case: Case) -> None:
    """The row, the lane, the ring and one token: no list of lanes, and no token for a lane that was on the ring."""
    call = as_published(genqueue(case.keys, J1, b"x", lane=RED), case.keys)
    case.replies(call, 1)
    fields = {b"state": b"pending", b"attempts": b"0", b"payload": b"x", b"group": red}
    state = case.body.dump()
    assert set(state) == {case.keys.job(J1), case.keys.lane(RED), case.keys.ring, case.keys.wake}
    assert state[case.keys.job(J1)].value == fields
    assert state[case.keys.lane(RED)].value == {J1: 0}
    assert state[case.keys.ring].value == (red,)
    assert state[case.keys.wake].value == (b"1",)
    case.body.delete([case.keys.wake])
    case.replies(as_published(genqueue(case.keys, J2, b"x", lane=RED), case.keys), 1)
    state = case.body.dump()
    assert set(state) == {case.keys.job(J1), case.keys.job(J2), case.keys.lane(RED), case.keys.ring}
    assert state[case.keys.lane(RED)].value == {J1: 0, J2: 0}
    assert state[case.keys.ring].value == (red,)
    case.replies(as_published(genqueue(case.keys, J2, b"y", lane=BLUE), case.keys), 0)
    assert case.body.dump() == state


def test_rule_10_a_lane_enters_the_ring_at_its_tail_and_once(case: Case) -> None:
    seed = case.seed().pending(J3, group=blue)
    case.given(seed)
    case.step(genqueue(case.keys, J2, b"p", lane=RED), Enqueued(J2), seed.pending(J2, group=red).wakes(1))
    case.step(genqueue(case.keys, J1, b"p", lane=RED), Enqueued(J1), seed.pending(J1, group=red))


@pytest.mark.parametrize("hindrance", ["parked", "limit"])
def test_rule_10_a_lane_that_cannot_be_served_stays_off_the_ring_and_wakes_nobody(case: Case, hindrance: str) -> None:
    seed = case.seed().parked(RED) if hindrance == "parked" else case.seed().limit(RED, 2).in_flight(RED, 2)
    case.given(seed)
    case.step(genqueue(case.keys, J1, b"p", lane=RED), Enqueued(J1), seed.copy().pending(J1, group=red))


def test_rule_12_a_job_that_joins_a_lane_on_the_ring_wakes_one_if_no_token_lies_there(case: Case) -> None:
    seed = case.seed().pending(J1, group=red)
    case.given(seed)
    case.step(genqueue(case.keys, J2, b"p", lane=RED), Enqueued(J2), seed.copy().pending(J2, group=red).wakes(1))
    case.given(seed.wakes(5))
    case.step(genqueue(case.keys, J2, b"p", lane=RED), Enqueued(J2), seed.copy().pending(J2, group=red))


def test_rule_12_the_list_of_tokens_has_at_most_64(case: Case) -> None:
    case.given(case.seed().wakes(3, *[1] * 63))
    after = case.seed().pending(J1, group=red).wakes(1, 3, *[1] * 62)
    case.step(genqueue(case.keys, J1, b"p", lane=RED), Enqueued(J1), after)


@pytest.mark.parametrize("place", ["pending", "active", "scheduled", "dead"])
def test_a_duplicate_changes_nothing_wherever_the_job_is(case: Case, place: str) -> None:
    seed = case.seed()
    match place:
        case "active":
            seed.active(J1, 1, ends=1)
        case "scheduled":
            seed.scheduled(J1, due=1)
        case _:
            getattr(seed, place)(J1, group=blue)
    case.given(seed)
    case.keeps(genqueue(case.keys, J1, b"other", lane=RED), Duplicate(J1))


def test_the_kind_is_judged_before_existence(case: Case) -> None:
    call = genqueue(case.keys, J1, b"x", lane=RED)
    case.given(case.seed())
    case.errs(published_form(call, b"ORD" + J1[3:], b"x", red), "EMQKIND")


def test_w04_a_skeleton_is_replaced_and_is_no_duplicate(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), state=b"pending", parent_policy=b"fp"))
    after = case.seed().pending(J1, payload=b"new", group=red).wakes(1)
    case.step(genqueue(case.keys, J1, b"new", lane=RED), Enqueued(J1), after)


def test_a_broken_row_is_answered_wrongtype_and_stays(case: Case) -> None:
    case.given(case.seed().broken(J1))
    case.refuses_type(genqueue(case.keys, J1, b"x", lane=RED))


@pytest.mark.parametrize("lane", ["acme-eu", "a@b.example", "x+y_z", "q" * 128, "1"])
def test_a_lane_may_have_a_name_that_is_no_branded_id(case: Case, lane: str) -> None:
    after = case.seed().pending(J1, payload=b"x", group=lane.encode()).wakes(1)
    case.step(genqueue(case.keys, J1, b"x", lane=lane), Enqueued(J1), after)


def test_what_cannot_be_sent_is_refused_before_the_wire(case: Case) -> None:
    with pytest.raises(InvalidPayload):
        genqueue(case.keys, J1, "text", lane=RED)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(InvalidOption):
        genqueue(case.keys, J1, b"x", lane=RED, max_attempts=0)
    for lane in ("", "a:b", "a b", "{x}", "q" * 129):
        with pytest.raises(InvalidName):
            genqueue(case.keys, J1, b"x", lane=lane)
