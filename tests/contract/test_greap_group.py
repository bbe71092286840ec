"""greap_group: protocol 4.16.11; each job as in reap."""

import pytest

from echomq.errors import BadInput
from echomq.transitions.greap_group import greap_group
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, RED

red, blue = RED.encode(), BLUE.encode()
LAPSED = b"lease lapsed on attempt 3, and no attempt is left"


def test_only_the_named_groups_lapses_are_recovered(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-2, group=red).active(J2, 1, ends=-2, group=blue).active(J3, 1, ends=-2)
    seed.active(J4, 1, ends=2, group=red).in_flight(RED, 2).in_flight(BLUE, 1)
    case.given(seed)
    after = seed.copy().pending(J1).in_flight(RED, 1).wakes(1)
    case.step(greap_group(case.keys, RED), 1, after)
    case.keeps(greap_group(case.keys, RED), 0)


def test_several_wake_one_each(case: Case) -> None:
    seed = case.seed().in_flight(RED, 3).limit(RED, 3)
    for job in (J1, J2, J3):
        seed.active(job, 1, ends=-1, group=red)
    case.given(seed)
    after = seed.copy().pending(J1).pending(J2).pending(J3).in_flight(RED, None).wakes(2, 1)
    case.step(greap_group(case.keys, RED), 3, after)


def test_w20_a_job_without_an_attempt_left_dies(case: Case) -> None:
    seed = case.seed().active(J1, 3, ends=-2, group=red).active(J2, 1, ends=-1, group=red).in_flight(RED, 2)
    case.given(seed)
    after = seed.copy().dead(J1, last_error=LAPSED, died_at=0).pending(J2).in_flight(RED, None).failed(1).wakes(1)
    case.step(greap_group(case.keys, RED, max_attempts=3), 2, after)


def test_w20_a_cap_of_its_own_counts(case: Case) -> None:
    seed = case.seed().active(J1, 3, ends=-2, group=red, max_attempts=3).in_flight(RED, 1)
    case.given(seed)
    after = seed.copy().dead(J1, last_error=LAPSED, died_at=0).in_flight(RED, None).failed(1)
    case.step(greap_group(case.keys, RED), 1, after)


def test_w04_ghosts_are_nobodys_and_stay(case: Case) -> None:
    seed = case.seed().member(case.keys.active, J1, -1).fields(case.keys.job(J2), state=b"active")
    case.given(seed.member(case.keys.active, J2, -1))
    case.keeps(greap_group(case.keys, RED), 0)


def test_w44_it_looks_at_the_first_lapsed_up_to_its_limit(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-5, group=blue).active(J2, 1, ends=-4, group=red)
    seed.active(J3, 1, ends=-3, group=red).in_flight(RED, 2).in_flight(BLUE, 1)
    case.given(seed)
    case.keeps(greap_group(case.keys, RED, limit=1), 0)
    case.step(greap_group(case.keys, RED, limit=2), 1, seed.copy().pending(J2).in_flight(RED, 1).wakes(1))


def test_rule_3_a_job_of_a_damaged_lane_goes_to_dead(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-1, group=red).in_flight(RED, 1).string(case.keys.lane(RED), b"x")
    case.given(seed)
    text = b"WRONGTYPE the key %b holds a value of another type" % case.keys.lane(RED)
    after = seed.copy().dead(J1, last_error=text, died_at=0).in_flight(RED, None)
    case.step(greap_group(case.keys, RED), 1, after.live(RED))


def test_a_lane_of_any_name_is_reaped(case: Case) -> None:
    seed = case.seed().active(J5, 1, ends=-1, group=b"acme@eu").in_flight("acme@eu", 1)
    case.given(seed)
    case.step(greap_group(case.keys, "acme@eu"), 1, seed.copy().pending(J5).in_flight("acme@eu", None).wakes(1))


@pytest.mark.parametrize("limit", [0, 1001])
def test_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        greap_group(case.keys, RED, limit=limit)
