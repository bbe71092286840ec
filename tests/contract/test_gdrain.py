"""gdrain: protocol 4.16.10, rules 8, 10 and 11 of docs/wire.md."""

import pytest

from echomq.errors import BadInput, WrongType
from echomq.records import Drained
from echomq.transitions.gdrain import gdrain
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, RED
from tests.harness.published import as_published
from tests.harness.state import job_number

red, blue = RED.encode(), BLUE.encode()


def test_the_lane_is_emptied_and_all_else_stays(case: Case) -> None:
    row = case.keys.job(J1)
    seed = case.seed().pending(J3, group=blue).pending(J4).active(J5, 1, ends=1, group=red).in_flight(RED, 1)
    seed.limit(RED, 5).weight(RED, 2)
    full = seed.copy().pending(J1, group=red).pending(J2, group=red).lines(row + b":logs", b"a")
    full.string(row + b":dependencies", b"1").fields(row + b":processed", x=b"1").string(row + b":lock", b"1", ttl=1)
    case.given(full.ring(RED, BLUE))
    case.step(gdrain(case.keys, RED), Drained(2, more=False), seed)
    case.keeps(gdrain(case.keys, RED), Drained(0, more=False))


def test_rule_11_a_lane_with_nothing_left_is_not_live(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red))
    case.step(gdrain(case.keys, RED), Drained(1, more=False), case.seed())


def test_a_parked_lane_is_drained_and_stays_parked(case: Case) -> None:
    case.given(case.seed().pending(J1, group=red).parked(RED))
    case.step(gdrain(case.keys, RED), Drained(1, more=False), case.seed().parked(RED))


def test_w44_the_oldest_go_first_in_bounded_slices(case: Case) -> None:
    seed = case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=red)
    case.given(seed)
    case.step(gdrain(case.keys, RED, limit=2), Drained(2, more=True), seed.copy().forget(J1).forget(J2))
    case.step(gdrain(case.keys, RED, limit=2), Drained(1, more=False), case.seed())
    many = case.seed()
    for number in range(1, 1201):
        many.pending(job_number(number), group=red)
    case.given(many)
    case.replies(as_published(gdrain(case.keys, RED), case.keys), 1000)


def test_w04_ghosts_and_broken_rows_go_with_the_lane(case: Case) -> None:
    lane = case.keys.lane(RED)
    case.given(case.seed().member(lane, J1, 0).pending(J2, group=red).broken(J2).pending(J3, group=red))
    case.step(gdrain(case.keys, RED), Drained(3, more=False), case.seed())


@pytest.mark.parametrize("limit", [0, 1001])
def test_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        gdrain(case.keys, RED, limit=limit)


def test_rule_1_a_wrong_key_changes_nothing(case: Case) -> None:
    for key in (case.keys.lane(RED), case.keys.ring):
        case.given(case.seed().pending(J1, group=red).drop(key).string(key, b"x"))
        case.refuses(gdrain(case.keys, RED), WrongType)
