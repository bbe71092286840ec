"""gpause and gresume: protocol 4.16.6 and 7, rules 10 and 12 of docs/wire.md."""

import pytest

from echomq.errors import InvalidName, WrongType
from echomq.records import LaneSet
from echomq.transitions.gpause import gpause
from echomq.transitions.gresume import gresume
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.state import Seed

red, blue = RED.encode(), BLUE.encode()


def red_and_blue(case: Case) -> Seed:
    seed = case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=blue)
    return seed.active(J4, 1, ends=1, group=red).in_flight(RED, 1)


def test_a_parked_lane_leaves_the_ring_and_keeps_its_jobs(case: Case) -> None:
    seed = red_and_blue(case)
    case.given(seed)
    after = seed.copy().parked(RED).ring(BLUE)
    case.step(gpause(case.keys, RED), LaneSet(RED), after)
    case.keeps(gpause(case.keys, RED), LaneSet(RED))


def test_a_lane_in_the_middle_of_the_ring_leaves_it(case: Case) -> None:
    seed = case.seed()
    for number, job in enumerate((J1, J2, J3, J4)):
        seed.pending(job, group=b"l%d" % number)
    case.given(seed)
    case.step(gpause(case.keys, "l2"), LaneSet("l2"), seed.copy().parked("l2").ring("l0", "l1", "l3"))


def test_a_lane_without_jobs_can_be_parked(case: Case) -> None:
    case.step(gpause(case.keys, RED), LaneSet(RED), case.seed().parked(RED))


def test_a_resumed_lane_enters_the_ring_and_wakes_for_each_job_that_can_run(case: Case) -> None:
    seed = red_and_blue(case)
    case.given(seed.copy().parked(RED))
    case.step(gresume(case.keys, RED), LaneSet(RED), seed.copy().ring(BLUE, RED).wakes(1, 1))
    case.keeps(gresume(case.keys, RED), LaneSet(RED))


def test_rule_12_a_resumed_lane_wakes_one_where_a_token_lies(case: Case) -> None:
    seed = red_and_blue(case)
    case.given(seed.copy().parked(RED).wakes(4))
    case.step(gresume(case.keys, RED), LaneSet(RED), seed.copy().ring(BLUE, RED).wakes(1, 4))


def test_rule_12_free_seats_below_the_limit_are_what_can_run(case: Case) -> None:
    seed = red_and_blue(case).limit(RED, 2)
    case.given(seed.copy().parked(RED))
    case.step(gresume(case.keys, RED), LaneSet(RED), seed.copy().ring(BLUE, RED).wakes(1))


@pytest.mark.parametrize("why", ["empty", "full"])
def test_a_resumed_lane_that_cannot_be_served_stays_off_the_ring(case: Case, why: str) -> None:
    seed = case.seed() if why == "empty" else red_and_blue(case).limit(RED, 1)
    case.given(seed.copy().parked(RED))
    case.step(gresume(case.keys, RED), LaneSet(RED), seed)


def test_a_lane_that_was_not_parked_stays_as_it_is(case: Case) -> None:
    case.given(red_and_blue(case))
    case.keeps(gresume(case.keys, RED), LaneSet(RED))


def test_the_raw_replies(case: Case) -> None:
    case.replies(gpause(case.keys, RED), 1)
    case.replies(gresume(case.keys, RED), 1)
    case.shows(case.seed())


def test_rule_1_a_wrong_key_of_any_kind_changes_nothing(case: Case) -> None:
    for key in (case.keys.paused, case.keys.ring):
        case.given(red_and_blue(case).drop(key).string(key, b"x"))
        case.refuses(gpause(case.keys, RED), WrongType)
    for key in (case.keys.ring, case.keys.group_limit, case.keys.group_active, case.keys.wake, case.keys.lane(RED)):
        case.given(red_and_blue(case).parked(RED).drop(key).string(key, b"x"))
        case.refuses(gresume(case.keys, RED), WrongType)


def test_a_lane_has_its_characters(case: Case) -> None:
    for verb in (gpause, gresume):
        with pytest.raises(InvalidName):
            verb(case.keys, "a b")
    case.step(gpause(case.keys, "acme@eu"), LaneSet("acme@eu"), case.seed().parked("acme@eu"))
