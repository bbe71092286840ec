"""Whose turn it is: sizes of backlogs, weights, the flat set and limits decide nothing that they should not."""

from collections import Counter

import pytest

from echomq.records import Claimed, LaneSet
from echomq.transitions.glimit import glimit
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from tests.fairness.figures import longest_wait, worst_jain
from tests.fairness.stage import Plain, Tenants

FIFTY = [f"tenant-{number}" for number in range(50)]


def unequal(tenants: Tenants, least: int) -> None:
    """Give fifty lanes backlogs from `least` jobs up, the first lane thirty times as many as the last one."""
    for number, lane in enumerate(FIFTY):
        tenants.admit(lane, max(least, 30 * least // (number + 1)))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_single_job_of_a_tenant_starts_within_three_turns_beside_100_000(tenants: Tenants, size: int) -> None:
    many = 10_000 if isinstance(tenants.runner, Plain) else 100_000
    tenants.admit("large", many)
    tenants.admit("middle", 100)
    tenants.admit("small", 1)
    while len(tenants.starts) < 3:
        tenants.end(tenants.take(size))
    assert "small" in tenants.starts[:3]
    # The rota is under way now; a tenant that comes later waits no longer.
    (late,) = tenants.admit("small", 1)
    before = len(tenants.starts)
    while len(tenants.starts) < before + 3:
        tenants.end(tenants.take(size))
    place = [one.job for one in tenants.attempts].index(late)
    assert place < before + 3


@pytest.mark.parametrize("size", [1, 7, 100])
def test_weights_of_three_to_one_give_three_to_one(tenants: Tenants, size: int) -> None:
    weighed(tenants)
    while len(tenants.starts) < 4_000:
        tenants.end(tenants.take(size))
    check_three_to_one(tenants)


def test_the_published_weighted_claim_gives_three_to_one(tenants: Tenants) -> None:
    weighed(tenants)
    while len(tenants.starts) < 4_000:
        jobs = tenants.run(gwclaim(tenants.keys, lease_ms=60_000))
        assert isinstance(jobs, tuple)
        tenants.starts += [one.lane for one in jobs]
        tenants.end(jobs)
    check_three_to_one(tenants)


def weighed(tenants: Tenants) -> None:
    tenants.admit("heavy", 5_000)
    tenants.admit("light", 5_000)
    assert tenants.run(gweight(tenants.keys, "heavy", 3)) == LaneSet("heavy")


def check_three_to_one(tenants: Tenants) -> None:
    starts = tenants.starts[:4_000]
    counts = Counter(starts)
    assert 3 * 0.98 <= counts["heavy"] / counts["light"] <= 3 * 1.02, counts
    assert longest_wait(starts, "light") <= 3, "the light lane was skipped for a whole round"
    assert longest_wait(starts, "heavy") <= 1


@pytest.mark.parametrize("size", [1, 100])
def test_fifty_lanes_with_very_unequal_backlogs_start_alike(tenants: Tenants, size: int) -> None:
    unequal(tenants, least=40)
    while len(tenants.starts) < 50 * 40:
        tenants.end(tenants.take(size))
    assert worst_jain(tenants.starts[: 50 * 40], FIFTY, window=500) >= 0.99


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("flat", [200, 5_000])
def test_the_flat_set_is_one_lane_among_others(tenants: Tenants, size: int, flat: int) -> None:
    # Its jobs are the oldest of all; and there are as many as in a lane, or far more.
    lanes: list[str | None] = [None, "a", "b", "c", "d"]
    tenants.admit(None, flat)
    for lane in lanes[1:]:
        tenants.admit(lane, 200)
    while len(tenants.starts) < 900:
        tenants.end(tenants.take(size))
    starts = tenants.starts[:900]
    assert [longest_wait(starts, lane) for lane in lanes] == [4] * 5


@pytest.mark.parametrize("size", [1, 10])
def test_a_lane_at_its_limit_is_skipped_and_the_ring_moves_on(tenants: Tenants, size: int) -> None:
    tenants.run(glimit(tenants.keys, "limited", 3))
    tenants.admit("limited", 10_000)
    held: list[Claimed] = []
    while jobs := tenants.take(size):
        held += jobs
    assert len(held) == 3
    tenants.admit("other", 1)
    (one,) = tenants.take(size)
    assert one.lane == "other"
    assert tenants.take(size) == ()
    # A seat that becomes free is taken at once, and one only.
    tenants.end([held.pop()])
    assert [one.lane for one in tenants.take(size)] == ["limited"]
    assert tenants.take(size) == ()


def work_on(tenants: Tenants, size: int, starts: int, *, chained: bool) -> None:
    """Be a worker with so many slots: when one is free it takes again. Handlers of a chain enqueue its next job."""
    held = list(tenants.take(size))
    while held and len(tenants.starts) < starts:
        done = held.pop(0)
        if chained and done.lane is not None:
            tenants.admit(done.lane, 1)
        tenants.end([done])
        held += tenants.take(size - len(held))
    tenants.end(held)


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("size", [1, 8])
def test_lanes_that_empty_with_each_take_and_enter_again_leave_the_flat_set_its_turns(
    tenants: Tenants, size: int, count: int
) -> None:
    lanes = FIFTY[:count]
    for lane in lanes:
        tenants.admit(lane, 1)
    tenants.admit(None, 300)
    work_on(tenants, size, 300, chained=True)
    check_that_all_go_on(tenants, lanes, size)


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("size", [1, 8])
def test_lanes_that_fill_to_their_limits_with_each_take_leave_the_flat_set_its_turns(
    tenants: Tenants, size: int, count: int
) -> None:
    lanes = FIFTY[:count]
    for lane in lanes:
        tenants.run(glimit(tenants.keys, lane, 1))
        tenants.admit(lane, 400)
    tenants.admit(None, 300)
    work_on(tenants, size, 300, chained=False)
    check_that_all_go_on(tenants, lanes, size)


def check_that_all_go_on(tenants: Tenants, lanes: list[str], size: int) -> None:
    """The flat set starts once in a round; and so does a lane, once its job of the round before has ended."""
    starts = tenants.starts[:300]
    assert longest_wait(starts, None) <= len(lanes)
    for lane in lanes:
        assert longest_wait(starts, lane) <= len(lanes) + size, lane
