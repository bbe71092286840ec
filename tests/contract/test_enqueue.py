"""enqueue: protocol 4.1."""

import pytest

from echomq.errors import InvalidOption, InvalidPayload
from echomq.records import Duplicate, Enqueued
from echomq.transitions.enqueue import enqueue
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2
from tests.harness.published import as_published


def test_a_fresh_row_has_exactly_the_three_fields(case: Case) -> None:
    after = case.seed().pending(J1, 0, payload=b"hello").wakes(1)
    case.step(enqueue(case.keys, J1, b"hello"), Enqueued(J1), after)


def test_a_cap_of_its_own_is_a_fourth_field(case: Case) -> None:
    after = case.seed().pending(J1, 0, payload=b"hello", max_attempts=7).wakes(1)
    case.step(enqueue(case.keys, J1, b"hello", max_attempts=7), Enqueued(J1), after)


@pytest.mark.parametrize("place", ["pending", "active", "scheduled", "dead"])
def test_a_duplicate_changes_nothing_wherever_the_job_is(case: Case, place: str) -> None:
    seed = case.seed()
    match place:
        case "active":
            seed.active(J1, 1, ends=1)
        case "scheduled":
            seed.scheduled(J1, due=1)
        case _:
            getattr(seed, place)(J1)
    case.given(seed)
    case.keeps(enqueue(case.keys, J1, b"other", max_attempts=3), Duplicate(J1))


def test_the_kind_is_judged_before_existence(case: Case) -> None:
    alien = b"ORD" + J1[3:]
    call = enqueue(case.keys, J1, b"x")
    case.given(case.seed())
    case.errs(published_form(call, alien, b"x"), "EMQKIND")


def test_published_keys_arguments_and_replies(case: Case) -> None:
    call = as_published(enqueue(case.keys, J1, b"x", max_attempts=2), case.keys)
    case.replies(call, 1)
    case.shows(case.seed().pending(J1, 0, payload=b"x"))
    case.replies(call, 0)


def test_an_empty_cap_is_no_cap(case: Case) -> None:
    case.replies(published_form(enqueue(case.keys, J1, b"x"), J1, b"x", b""), 1)
    case.shows(case.seed().pending(J1, 0, payload=b"x").wakes(1))


def test_w04_a_skeleton_is_replaced_and_is_no_duplicate(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), state=b"pending", parent_policy=b"fp"))
    case.step(enqueue(case.keys, J1, b"new"), Enqueued(J1), case.seed().pending(J1, 0, payload=b"new").wakes(1))


def test_w36_a_row_of_a_lock_alone_is_replaced(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), lock=b"1"))
    case.step(enqueue(case.keys, J1, b"new"), Enqueued(J1), case.seed().pending(J1, 0, payload=b"new").wakes(1))


def test_other_jobs_and_their_order_stay(case: Case) -> None:
    seed = case.seed().pending(J2, payload=b"later")
    case.given(seed)
    after = seed.copy().pending(J1, payload=b"x").wakes(1)
    case.step(enqueue(case.keys, J1, b"x"), Enqueued(J1), after)


def test_a_broken_row_is_answered_wrongtype_and_stays(case: Case) -> None:
    case.given(case.seed().broken(J1))
    case.refuses_type(enqueue(case.keys, J1, b"x"))


def test_what_cannot_be_sent_is_refused_before_the_wire(case: Case) -> None:
    with pytest.raises(InvalidPayload):
        enqueue(case.keys, J1, "text")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(InvalidOption):
        enqueue(case.keys, J1, b"x", max_attempts=0)
