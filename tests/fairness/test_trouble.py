"""Fairness while jobs fail and return, and while claimers die and their jobs are taken back."""

import itertools
import random

import pytest

from echomq.records import Claimed
from echomq.transitions.release import release
from tests.fairness.figures import worst_jain
from tests.fairness.stage import Tenants
from tests.fairness.test_turns import FIFTY, unequal

LEAST = 30
STARTS = 50 * LEAST


def split(jobs: tuple[Claimed, ...], dice: random.Random) -> tuple[list[Claimed], list[Claimed]]:
    """Return the jobs that end well, and about every tenth, which fails."""
    failing = {one.job for one in jobs if dice.random() < 0.1}
    return [one for one in jobs if one.job not in failing], [one for one in jobs if one.job in failing]


@pytest.mark.parametrize("size", [1, 100])
def test_lanes_start_alike_while_jobs_fail_and_return(tenants: Tenants, size: int) -> None:
    dice = random.Random(3)
    unequal(tenants, least=LEAST)
    while len(tenants.starts) < STARTS:
        good, bad = split(tenants.take(size), dice)
        tenants.end(good)
        tenants.fail(bad)
    assert any(one.token > 1 for one in tenants.attempts), "no job has failed and run again"
    assert worst_jain(tenants.starts[:STARTS], FIFTY, window=500) >= 0.99


@pytest.mark.parametrize("size", [1, 100])
def test_lanes_start_alike_while_claimers_die(tenants: Tenants, size: int) -> None:
    dice = random.Random(4)
    unequal(tenants, least=LEAST)
    while len(tenants.starts) < STARTS:
        if dice.random() < 0.2:
            tenants.take(size, lease_ms=1)  # and it never hears of them again
        else:
            good, bad = split(tenants.take(size), dice)
            tenants.end(good)
            tenants.fail(bad)
        tenants.reap()
    assert any(one.token > 1 for one in tenants.attempts), "no job of a claimer that died has run again"
    assert worst_jain(tenants.starts[:STARTS], FIFTY, window=500) >= 0.99


@pytest.mark.parametrize("size", [1, 100])
def test_nothing_is_lost_or_done_twice_until_all_lanes_are_empty(tenants: Tenants, size: int) -> None:
    dice = random.Random(5)
    lanes: list[str | None] = [None, *FIFTY[:9]]
    ids = {job for number, lane in enumerate(lanes) for job in tenants.admit(lane, 5 * (number + 1))}
    ended: list[Claimed] = []
    while len(ended) < len(ids):
        if dice.random() < 0.2:
            tenants.take(size, lease_ms=1)
        else:
            good, bad = split(tenants.take(size), dice)
            tenants.end(good)
            tenants.fail(bad)
            ended += good
        tenants.reap()
    assert sorted(one.job for one in ended) == sorted(ids)
    assert tenants.take(size) == ()


@pytest.mark.parametrize("lane", ["mail", None])
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_old_jobs_that_fail_again_and_again_leave_every_second_place_to_fresh_ones(
    tenants: Tenants, size: int, lane: str | None
) -> None:
    old = set(tenants.admit(lane, 120))
    tenants.fail(tenants.take(120))
    fresh = tenants.admit(lane, 100)
    del tenants.attempts[:]
    waiting = set(fresh)
    while waiting:
        jobs = tenants.take(size)
        tenants.end(one for one in jobs if one.job not in old)
        tenants.fail(one for one in jobs if one.job in old)
        waiting -= {one.job for one in jobs}
    places = [one.job in old for one in tenants.attempts]
    last = max(place for place, is_old in enumerate(places) if not is_old)
    pairs = list(itertools.pairwise(places[: last + 1]))
    assert (True, True) not in pairs, "two retries ran in a row while fresh jobs waited"
    assert [one.job for one in tenants.attempts if one.job not in old] == fresh, "the fresh ones ran out of order"
    assert (False, False) not in pairs, "the retries do not get the places between"


@pytest.mark.parametrize("lane", ["mail", None])
@pytest.mark.parametrize("size", [1, 4])
def test_fresh_jobs_that_keep_coming_leave_every_second_place_to_retries(
    tenants: Tenants, size: int, lane: str | None
) -> None:
    old = set(tenants.admit(lane, 20))
    tenants.fail(tenants.take(20))
    del tenants.attempts[:]
    retried: set[object] = set()
    for _ in range(20):
        tenants.admit(lane, 2 * size)
        jobs = tenants.take(size)
        tenants.end(jobs)
        retried |= {one.job for one in jobs} & old
    assert len(retried) == min(20, 20 * size // 2)


@pytest.mark.parametrize("lane", ["mail", None])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("newest", ["a retry", "fresh ones"])
def test_fresh_jobs_between_retries_start_whatever_comes_behind_them(
    tenants: Tenants, newest: str, size: int, lane: str | None
) -> None:
    """Four old jobs that fail for ever, five that were handed back and are fresh, four that fail, and what comes."""
    ids = tenants.admit(lane, 13)
    between = ids[4:9]
    jobs = tenants.take(13)
    for one in jobs:
        if one.job in between:
            tenants.run(release(tenants.keys, one.job, one.token))
    tenants.fail(one for one in jobs if one.job not in between)
    failing = {one.job for one in jobs} - set(between)
    del tenants.attempts[:]
    while len(tenants.attempts) < 30:
        if newest == "fresh ones":
            tenants.admit(lane, size)
        jobs = tenants.take(size)
        tenants.end(one for one in jobs if one.job not in failing)
        tenants.fail(one for one in jobs if one.job in failing)
    started = [one.job for one in tenants.attempts]
    assert [job for job in started if job not in failing][:5] == between, "the fresh ones run in the order of minting"
    assert started.index(between[-1]) < 20, started
