"""take: retries keep their manners (W32). docs/wire.md, claiming, take 4."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, J6, RED
from tests.harness.state import Seed, job_number
from tests.harness.takes import leased, take_jobs, taken

red, blue = RED.encode(), BLUE.encode()
in_a_lane_and_flat = pytest.mark.parametrize("group", [RED, ""], ids=["lane", "flat"])


def waiting(case: Case, group: str, marks: str) -> Seed:
    """Return jobs 1, 2, … in one lane: `f` a fresh one, `r` one that was tried, `g` one that was released."""
    seed = case.seed()
    for number, mark in enumerate(marks, start=1):
        fields = {"group": group.encode()} if group else {}
        if mark == "g":
            fields["unspent"] = b"1"
        seed.pending(job_number(number), 0 if mark == "f" else 1, **fields)
    return seed


def order(case: Case, sizes: list[int]) -> str:
    """Return the numbers of the jobs in the order in which takes of these sizes serve them."""
    numbers = {bytes(job_number(number)): number for number in range(1, 60)}
    return " ".join(str(numbers[job]) for size in sizes for job in take_jobs(case, size))


# Each lane, and the order of serving that the rule makes of it.
LANES = {
    "ffff": "1 2 3 4",
    "rrrr": "1 2 3 4",
    "rrff": "1 3 2 4",
    "rrrf": "1 4 2 3",
    "rffr": "1 2 3 4",  # the newest was tried: the oldest is served, and that is a fresh one
    "rrfr": "1 3 2 4",  # the newest was tried as well: the fresh one between is found
    "rrrfrr": "1 4 2 3 5 6",
    "frff": "1 2 3 4",
    "rrrrfff": "1 5 2 6 3 7 4",
    "ggff": "1 2 3 4",  # released: nothing is spent, they are fresh
}


@in_a_lane_and_flat
@pytest.mark.parametrize(("marks", "served"), LANES.items())
def test_w32_after_a_tried_job_the_next_place_is_a_fresh_ones(case: Case, group: str, marks: str, served: str) -> None:
    case.given(waiting(case, group, marks))
    assert order(case, [1] * len(marks)) == served
    case.given(waiting(case, group, marks))
    assert order(case, [len(marks)]) == served, "in one take"
    if group:
        case.given(waiting(case, group, marks).weight(RED, len(marks)))
        assert order(case, [len(marks)]) == served, "in one turn"
    assert case.keys.fresh_next not in case.body.dump(), "nobody waits any more"


@in_a_lane_and_flat
def test_the_first_fresh_one_of_the_next_fifty_is_found_wherever_retries_lie(case: Case, group: str) -> None:
    fresh_ones_keep_coming = "rr" + "r" * 47 + "f" + "rrr" + "f"
    case.given(waiting(case, group, fresh_ones_keep_coming))
    assert order(case, [1, 1, 1, 1]) == "1 50 2 54", "the older one first, though the newest is fresh as well"
    the_fiftieth = "rr" + "r" * 49 + "f" + "r"
    case.given(waiting(case, group, the_fiftieth))
    assert order(case, [2]) == "1 52"


@in_a_lane_and_flat
def test_beyond_the_next_fifty_the_search_halves_if_the_newest_is_fresh(case: Case, group: str) -> None:
    sorted_out = "rr" + "r" * 53 + "fff"
    case.given(waiting(case, group, sorted_out))
    assert order(case, [1, 1, 1, 1]) == "1 56 2 57"
    a_retry_is_the_newest = "rr" + "r" * 50 + "f" + "r"
    case.given(waiting(case, group, a_retry_is_the_newest))
    assert order(case, [1, 1, 1, 1]) == "1 2 53 3", "it comes nearer with each retry that leaves"


@in_a_lane_and_flat
def test_the_search_is_made_once_for_a_lane_and_take(case: Case, group: str) -> None:
    case.given(waiting(case, group, "rrfrrf"))
    assert order(case, [6]) == "1 3 2 4 5 6"
    case.given(waiting(case, group, "rrfrrf"))
    assert order(case, [1] * 6) == "1 3 2 6 4 5"


@in_a_lane_and_flat
def test_the_debt_is_kept_between_takes_while_jobs_wait(case: Case, group: str) -> None:
    seed = waiting(case, group, "rrff")
    case.given(seed)
    answer = taken(case, 1)
    case.shows(leased(seed.copy(), answer.jobs).owes_fresh(group))
    answer = taken(case, 1, worth=b"1")
    assert [claimed.job for claimed in answer.jobs] == [J3]
    assert case.keys.fresh_next not in case.body.dump()


def test_a_lane_that_is_found_empty_owes_nothing(case: Case) -> None:
    seed = case.seed().pending(J1, group=blue)
    case.given(seed.copy().owes_fresh("", RED).ring(RED, BLUE))
    answer = taken(case, 1)
    case.shows(leased(seed.copy(), answer.jobs))


def test_a_second_entry_of_a_lane_on_the_ring_changes_nothing_of_its_debt(case: Case) -> None:
    seed = waiting(case, RED, "rrff").pending(job_number(50), group=blue)
    case.given(seed.copy().ring(RED, BLUE, RED))
    assert take_jobs(case, 3) == [J1, job_number(50), J3]
    case.given(seed.copy().limit(RED, 1).ring(RED, RED, BLUE))
    assert take_jobs(case, 3) == [J1, job_number(50)]
    assert case.body.dump()[case.keys.fresh_next].value == frozenset({red})


def test_each_lane_has_a_debt_of_its_own(case: Case) -> None:
    seed = case.seed().pending(J1, 1, group=red).pending(J2, 1, group=red).pending(J3, group=red)
    seed.pending(J4, group=blue).pending(J5, 2, group=blue).pending(J6, group=blue)
    case.given(seed)
    assert take_jobs(case, 2) == [J1, J4]
    assert case.body.dump()[case.keys.fresh_next].value == frozenset({red})
    assert take_jobs(case, 2) == [J3, J5]
    assert case.body.dump()[case.keys.fresh_next].value == frozenset({blue})
    assert take_jobs(case, 2) == [J2, J6]


def test_a_tried_job_takes_at_most_every_second_place_while_fresh_ones_wait(case: Case) -> None:
    case.given(waiting(case, RED, "r" * 20 + "f" * 20))
    served = [int(number) for number in order(case, [3] * 14).split()]
    assert sorted(served) == list(range(1, 41))
    assert [number for number in served if number <= 20] == list(range(1, 21))
    assert [number for number in served if number > 20] == list(range(21, 41))
    while_fresh_ones_wait = served[: served.index(40) + 1]
    assert all(min(pair) <= 20 < max(pair) for pair in pairwise(while_fresh_ones_wait)), served


def test_attempts_or_released_ones_that_are_no_number_count_as_none(case: Case) -> None:
    seed = waiting(case, RED, "rrff").row(J2, unspent=b"many")
    case.given(seed)
    assert take_jobs(case, 4)[0] == J1


@given(marks=st.text("rf", min_size=1, max_size=14), size=st.integers(1, 5), weight=st.integers(1, 4))
def test_whatever_waits_is_served_once_and_a_retry_never_bars_the_way(
    case: Case, marks: str, size: int, weight: int
) -> None:
    """Without retries the order is the published one; with them each side keeps the order of minting where it sorts."""
    case.given(waiting(case, RED, marks).weight(RED, weight))
    served = [int(number) for number in order(case, [size] * (len(marks) + 2)).split()]
    assert sorted(served) == list(range(1, len(marks) + 1))
    tried = [number for number in served if marks[number - 1] == "r"]
    assert tried == sorted(tried)
    if marks == "f" * len(marks) or marks == "r" * len(marks):
        assert served == sorted(served)
