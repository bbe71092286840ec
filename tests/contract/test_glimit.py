"""glimit: protocol 4.16.8, rules 10 and 12 of docs/wire.md. W42: a limit can be taken away."""

import pytest

from echomq.errors import BadInput, InvalidName, ServerError, WrongType
from echomq.records import LaneSet
from echomq.transitions.checks import ATTEMPTS_MAX
from echomq.transitions.glimit import glimit
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, J6, RED
from tests.harness.state import Seed

red, blue = RED.encode(), BLUE.encode()


def busy(case: Case) -> Seed:
    """Red: three wait, two are in flight; blue: one waits."""
    seed = case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=red).pending(J6, group=blue)
    seed.active(J4, 1, ends=1, group=red).active(J5, 1, ends=1, group=red)
    return seed.in_flight(RED, 2)


def test_a_limit_above_what_is_in_flight_leaves_the_lane_on_the_ring(case: Case) -> None:
    seed = busy(case)
    case.given(seed)
    case.step(glimit(case.keys, RED, 3), LaneSet(RED), seed.copy().limit(RED, 3))
    case.keeps(glimit(case.keys, RED, 3), LaneSet(RED))


@pytest.mark.parametrize("most", [2, 1])
def test_a_limit_that_is_reached_takes_the_lane_off_the_ring(case: Case, most: int) -> None:
    seed = busy(case)
    case.given(seed)
    case.step(glimit(case.keys, RED, most), LaneSet(RED), seed.copy().limit(RED, most).ring(BLUE))
    case.step(glimit(case.keys, RED, 1), LaneSet(RED), seed.copy().limit(RED, 1).ring(BLUE))


def test_a_raised_limit_puts_the_lane_back_and_wakes_for_each_free_seat(case: Case) -> None:
    seed = busy(case)
    case.given(seed.copy().limit(RED, 2))
    case.step(glimit(case.keys, RED, 3), LaneSet(RED), seed.copy().limit(RED, 3).ring(BLUE, RED).wakes(1))
    case.given(seed.copy().limit(RED, 2))
    case.step(glimit(case.keys, RED, 9), LaneSet(RED), seed.copy().limit(RED, 9).ring(BLUE, RED).wakes(2, 1))


def test_w42_a_limit_is_taken_away_and_the_lane_can_be_served(case: Case) -> None:
    seed = busy(case)
    case.given(seed.copy().limit(RED, 2).limit(BLUE, 5))
    case.step(glimit(case.keys, RED, None), LaneSet(RED), seed.copy().limit(BLUE, 5).ring(BLUE, RED).wakes(2, 1))
    case.keeps(glimit(case.keys, RED, None), LaneSet(RED))


def test_a_parked_or_empty_lane_stays_off_the_ring(case: Case) -> None:
    seed = busy(case).limit(RED, 2).parked(RED)
    case.given(seed)
    case.step(glimit(case.keys, RED, 9), LaneSet(RED), seed.copy().limit(RED, 9))
    case.given(case.seed())
    case.step(glimit(case.keys, RED, 9), LaneSet(RED), case.seed().limit(RED, 9))


def test_the_raw_replies(case: Case) -> None:
    case.replies(glimit(case.keys, RED, 1), 1)
    case.replies(glimit(case.keys, RED, None), 1)


def test_rule_1_a_wrong_key_of_any_kind_changes_nothing(case: Case) -> None:
    keys = case.keys
    for key in (keys.group_limit, keys.group_active, keys.ring, keys.paused, keys.wake, keys.lane(RED)):
        case.given(busy(case).drop(key).string(key, b"x"))
        case.refuses(glimit(case.keys, RED, 1), WrongType)
    case.given(busy(case).fields(keys.group_active, **{RED: b"many"}))
    case.refuses(glimit(case.keys, RED, 1), ServerError)


@pytest.mark.parametrize("most", [0, -1, ATTEMPTS_MAX + 1])
def test_a_limit_has_its_range(case: Case, most: int) -> None:
    glimit(case.keys, RED, ATTEMPTS_MAX)
    with pytest.raises(BadInput):
        glimit(case.keys, RED, most)
    with pytest.raises(InvalidName):
        glimit(case.keys, "", 1)
