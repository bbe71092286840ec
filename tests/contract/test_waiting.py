"""waiting: docs/wire.md, waiting."""

from dataclasses import replace

import pytest

from echomq.records import WaitingJobs
from echomq.transitions.waiting import waiting
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.state import Seed, job_number

red, blue = RED.encode(), BLUE.encode()


def two_lanes(case: Case) -> Seed:
    return case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=blue).pending(J4)


def test_jobs_of_all_lanes_are_counted_and_those_in_no_lane_are_not(case: Case) -> None:
    case.given(two_lanes(case))
    case.keeps(waiting(case.keys), WaitingJobs(3, None))


def test_there_are_none(case: Case) -> None:
    case.given(case.seed().pending(J4))
    case.keeps(waiting(case.keys), WaitingJobs(0, None))


def test_a_paused_lane_counts_and_what_runs_does_not(case: Case) -> None:
    case.given(two_lanes(case).parked(RED).in_flight("flying", 3).in_flight(BLUE, 2).live(RED, BLUE, "flying"))
    case.keeps(waiting(case.keys), WaitingJobs(3, None))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 12, 13, 1000])
def test_the_slices_add_up(case: Case, limit: int) -> None:
    seed, names = case.seed(), [f"lane-{number:02}" for number in range(12)]
    for number in range(24):
        seed.pending(job_number(number + 1), group=names[number % 12].encode())
    case.given(seed)
    count, after, slices = 0, None, 0
    while True:
        found = case.body.run(waiting(case.keys, after=after, limit=limit))
        count, after, slices = count + found.count, found.after, slices + 1
        if after is None:
            break
        assert found == WaitingJobs(2 * limit, names[slices * limit - 1].encode())
    assert (count, slices) == (24, 12 // limit + 1)
    case.shows(seed)


def test_the_walk_goes_on_after_a_name_that_has_gone(case: Case) -> None:
    case.given(two_lanes(case))
    first, last = sorted((red, blue))
    counts = {red: 2, blue: 1}
    assert case.body.run(waiting(case.keys, after=first + b"\x00")) == WaitingJobs(counts[last], None)
    assert case.body.run(waiting(case.keys, after=last)) == WaitingJobs(0, None)
    assert case.body.run(waiting(case.keys, limit=1)) == WaitingJobs(counts[first], first)


def test_a_name_of_another_speaker_may_be_of_any_bytes(case: Case) -> None:
    seed, names = case.seed(), (b"\xff\x1b", b"\xff\x1c")
    seed.member(case.keys.base + b"g:" + names[0] + b":pending", J1, 0)
    seed.member(case.keys.base + b"g:" + names[1] + b":pending", J2, 0)
    for name in names:
        seed.member(case.keys.lanes, name, 0)
    case.given(seed)
    assert case.body.run(waiting(case.keys, limit=1)) == WaitingJobs(1, b"\xff\x1b")
    assert case.body.run(waiting(case.keys, after=b"\xff\x1b")) == WaitingJobs(1, None)


def test_what_is_of_another_type_counts_as_absent(case: Case) -> None:
    seed = case.seed().string(case.keys.lane(RED), b"odd").live(RED, BLUE).pending(J3, group=blue).live(RED, BLUE)
    case.given(seed)
    case.keeps(waiting(case.keys), WaitingJobs(1, None))


def test_lanes_of_another_type_count_as_none(case: Case) -> None:
    case.given(case.seed().string(case.keys.lanes, b"odd"))
    case.keeps(waiting(case.keys), WaitingJobs(0, None))


def test_a_limit_above_a_thousand_is_a_thousand(case: Case) -> None:
    case.given(two_lanes(case))
    call = waiting(case.keys)
    assert case.body.run(replace(call, args=(b"", 5000))) == WaitingJobs(3, None)
