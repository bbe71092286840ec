"""promote: protocol 4.9, rules 2, 3 and 7 of docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.records import PromotedMany
from echomq.transitions.promote import promote
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.state import job_number


def test_what_is_due_is_made_ready_and_the_rest_waits(case: Case) -> None:
    seed = case.seed().scheduled(J1, 2, due=-1, last_error=b"kept").scheduled(J2, due=0).scheduled(J3, due=1)
    case.given(seed)
    case.step(promote(case.keys), PromotedMany(2, more=False), seed.copy().pending(J1).pending(J2).wakes(2))


def test_time_makes_it_due(case: Case) -> None:
    seed = case.seed().scheduled(J1, due=2)
    case.given(seed)
    case.body.advance(1)
    case.keeps(promote(case.keys), PromotedMany(0, more=False))
    case.body.advance(1)
    case.step(promote(case.keys), PromotedMany(1, more=False), seed.copy().pending(J1).wakes(1))


def test_the_limit_takes_the_earliest_and_says_that_more_may_be_due(case: Case) -> None:
    seed = case.seed().scheduled(J1, due=-1).scheduled(J2, due=-3).scheduled(J3, due=-2)
    case.given(seed)
    case.step(promote(case.keys, limit=2), PromotedMany(2, more=True), seed.pending(J2).pending(J3).wakes(2))
    case.step(promote(case.keys, limit=2), PromotedMany(1, more=False), seed.copy().pending(J1))


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=-1).scheduled(J2, due=-1))
    case.replies(published_form(promote(case.keys), case.keys.base, 1), 1)
    case.replies(published_form(promote(case.keys), case.keys.base, 10), 1)
    case.replies(published_form(promote(case.keys), case.keys.base, 10), 0)
    case.shows(case.seed().pending(J1).pending(J2).wakes(1))


def test_without_a_limit_a_hundred_are_promoted(case: Case) -> None:
    seed = case.seed()
    for number in range(1, 102):
        seed.scheduled(job_number(number), due=-1)
    case.given(seed)
    case.replies(published_form(promote(case.keys), case.keys.base), 100)


def test_w04_ghosts_and_skeletons_are_dropped_and_never_written_to(case: Case) -> None:
    seed = case.seed().scheduled(J1, due=-1).fields(case.keys.job(J3), lock=b"1")
    case.given(seed.copy().member(case.keys.schedule, J2, -1).member(case.keys.schedule, J3, -1))
    case.step(promote(case.keys), PromotedMany(3, more=False), seed.copy().pending(J1).wakes(1))


def test_a_broken_row_goes_to_dead_and_the_rest_is_promoted(case: Case) -> None:
    seed = case.seed().scheduled(J1, due=-1).broken(J1).scheduled(J2, due=-1)
    case.given(seed)
    after = seed.copy().out(J1).member(case.keys.dead, J1, 0).pending(J2).wakes(1)
    case.step(promote(case.keys), PromotedMany(2, more=False), after)


def test_a_grouped_job_goes_to_its_lane_and_enters_the_ring_once(case: Case) -> None:
    red, blue = RED.encode(), BLUE.encode()
    seed = case.seed().scheduled(J1, due=-1, group=red).scheduled(J2, due=-1, group=red)
    seed.scheduled(J3, due=-1, group=blue).scheduled(J4, due=-1)
    case.given(seed)
    after = seed.copy().pending(J1).pending(J2).pending(J3).pending(J4).ring(RED, BLUE).wakes(2, 1, 1)
    case.step(promote(case.keys), PromotedMany(4, more=False), after)


@pytest.mark.parametrize("hindrance", ["parked", "limit"])
def test_a_lane_that_may_not_be_served_stays_off_the_ring(case: Case, hindrance: str) -> None:
    seed = case.seed().scheduled(J1, due=-1, group=RED.encode())
    seed = seed.parked(RED) if hindrance == "parked" else seed.limit(RED, 2).in_flight(RED, 2)
    case.given(seed)
    case.step(promote(case.keys), PromotedMany(1, more=False), seed.copy().pending(J1))


@pytest.mark.parametrize("limit", [0, 1001])
def test_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        promote(case.keys, limit=limit)
