"""greassign: protocol 4.16.9, rules 10 to 12 of docs/wire.md."""

import pytest

from echomq.errors import InvalidName, ServerError, WrongType
from echomq.records import AlreadyThere, Gone, NotInLane, Reassigned
from echomq.transitions.greassign import greassign
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, RED

red, blue = RED.encode(), BLUE.encode()


def test_a_waiting_job_moves_and_its_old_lane_goes_on(case: Case) -> None:
    seed = case.seed().pending(J1, 2, group=red, last_error=b"kept").pending(J2, group=red)
    case.given(seed)
    case.step(greassign(case.keys, J1, BLUE), Reassigned(J1, BLUE), seed.copy().pending(J1, group=blue).wakes(1))


def test_the_last_job_takes_its_lane_off_the_ring(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).pending(J3, group=b"x").pending(J2, group=blue)
    case.given(seed)
    after = seed.copy().pending(J1, group=blue).ring("x", BLUE).wakes(1)
    case.step(greassign(case.keys, J1, BLUE), Reassigned(J1, BLUE), after)


@pytest.mark.parametrize("hindrance", ["parked", "limit"])
def test_a_lane_that_cannot_be_served_takes_the_job_and_stays_off_the_ring(case: Case, hindrance: str) -> None:
    seed = case.seed().pending(J1, group=red)
    seed = seed.parked(BLUE) if hindrance == "parked" else seed.limit(BLUE, 1).in_flight(BLUE, 1)
    case.given(seed)
    case.step(greassign(case.keys, J1, BLUE), Reassigned(J1, BLUE), seed.copy().pending(J1, group=blue))


def test_a_job_of_that_lane_is_there_already(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red).active(J2, 1, ends=1, group=red).in_flight(RED, 1))
    case.keeps(greassign(case.keys, J1, RED), AlreadyThere(J1, RED))
    case.keeps(greassign(case.keys, J2, RED), AlreadyThere(J2, RED))


@pytest.mark.parametrize("place", ["active", "scheduled", "dead"])
def test_a_job_that_does_not_wait_is_not_moved(case: Case, place: str) -> None:
    seed = case.seed()
    match place:
        case "active":
            seed.active(J1, 1, ends=1, group=red).in_flight(RED, 1)
        case "scheduled":
            seed.scheduled(J1, due=1, group=red)
        case _:
            seed.dead(J1, 1, group=red)
    case.given(seed)
    case.keeps(greassign(case.keys, J1, BLUE), NotInLane(J1))


def test_w04_no_job_a_ghost_a_skeleton_and_a_job_without_a_lane_are_gone(case: Case) -> None:
    seed = case.seed().member(case.keys.lane(RED), J1, 0).fields(case.keys.job(J2), group=red).pending(J3)
    case.given(seed.member(case.keys.lane(RED), J2, 0))
    for job in (J1, J2, J3):
        case.keeps(greassign(case.keys, job, BLUE), Gone(job))
    case.body.drop()
    case.keeps(greassign(case.keys, J1, BLUE), Gone(J1))


def test_the_raw_replies(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red).dead(J2, group=red))
    case.replies(greassign(case.keys, J1, BLUE), 1)
    case.replies(greassign(case.keys, J1, BLUE), 0)
    case.replies(greassign(case.keys, J3, BLUE), -1)
    case.replies(greassign(case.keys, J2, BLUE), -2)


def test_a_job_moves_into_a_lane_of_any_name(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red))
    case.step(
        greassign(case.keys, J1, "acme@eu"),
        Reassigned(J1, "acme@eu"),
        case.seed().pending(J1, group=b"acme@eu").wakes(1),
    )
    with pytest.raises(InvalidName):
        greassign(case.keys, J1, "a b")


@pytest.mark.parametrize("group", [RED, BLUE])
def test_rule_1_damage_of_either_lane_changes_nothing(case: Case, group: str) -> None:
    keys = case.keys
    seed = case.seed().pending(J1, group=red).pending(J2, group=blue)
    for key in (keys.lane(group), keys.ring, keys.paused, keys.group_limit, keys.group_active, keys.wake):
        case.given(seed.copy().drop(key).string(key, b"x"))
        case.refuses(greassign(case.keys, J1, BLUE), WrongType)
    case.given(seed.copy().fields(keys.group_active, **{group: b"many"}))
    case.refuses(greassign(case.keys, J1, BLUE), ServerError)
    case.given(seed.copy().broken(J1))
    case.refuses(greassign(case.keys, J1, BLUE), WrongType)
