"""gweight: protocol 4.16.5. W42: a weight can be taken away."""

import pytest

from echomq.errors import BadInput, InvalidName
from echomq.records import LaneSet
from echomq.transitions.gweight import gweight
from tests.harness.case import Case
from tests.harness.jobs import BLUE, RED


def test_the_weight_is_set_and_replaced(case: Case) -> None:
    seed = case.seed().weight(BLUE, 2)
    case.given(seed)
    case.step(gweight(case.keys, RED, 3), LaneSet(RED), seed.copy().weight(RED, 3))
    case.step(gweight(case.keys, RED, 1000), LaneSet(RED), seed.copy().weight(RED, 1000))
    case.replies(gweight(case.keys, RED, 1), 1)


def test_w42_a_weight_is_taken_away(case: Case) -> None:
    seed = case.seed().weight(BLUE, 2)
    case.given(seed.copy().weight(RED, 3))
    case.step(gweight(case.keys, RED, None), LaneSet(RED), seed)
    case.keeps(gweight(case.keys, RED, None), LaneSet(RED))


def test_it_counts_for_lanes_of_any_name(case: Case) -> None:
    case.step(
        gweight(case.keys, "acme@eu", 2),
        LaneSet("acme@eu"),
        case.seed().fields(case.keys.group_weight, **{"acme@eu": 2}),
    )


@pytest.mark.parametrize("weight", [0, 1001, -1])
def test_a_weight_is_one_to_a_thousand(case: Case, weight: int) -> None:
    with pytest.raises(BadInput):
        gweight(case.keys, RED, weight)
    with pytest.raises(InvalidName):
        gweight(case.keys, "a:b", 1)
