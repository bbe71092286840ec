"""purge: docs/wire.md, moving."""

import pytest

from echomq.errors import BadInput
from echomq.ids import JobId
from echomq.records import Purged
from echomq.transitions.purge import purge
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4
from tests.harness.state import HOUR


def minted(case: Case, hours_ago: int) -> JobId:
    return JobId.smallest_at(case.body.start_ms - hours_ago * HOUR)


def test_w40_dead_jobs_older_than_the_age_are_deleted_with_all_they_have(case: Case) -> None:
    row = case.keys.job(J1)
    seed = case.seed().dead(J1, died_at=-5).dead(J2, died_at=-1).pending(J3)
    case.given(seed.copy().lines(row + b":logs", b"a").string(row + b":dependencies", b"0"))
    case.step(purge(case.keys, age_ms=3 * HOUR), Purged(1, None), seed.copy().forget(J1))


def test_time_ages_the_dead(case: Case) -> None:
    seed = case.seed().dead(J1, died_at=0)
    case.given(seed)
    case.body.advance(2)
    case.keeps(purge(case.keys, age_ms=3 * HOUR), Purged(0, None))
    case.body.advance(1)
    case.step(purge(case.keys, age_ms=3 * HOUR), Purged(1, None), case.seed())


def test_without_an_instant_of_death_the_mint_counts(case: Case) -> None:
    old, young = minted(case, 5), minted(case, 1)
    seed = case.seed().dead(old).dead(young)
    case.given(seed)
    case.step(purge(case.keys, age_ms=3 * HOUR), Purged(1, None), case.seed().dead(young))


def test_the_walk_ends_at_the_first_id_minted_after_the_age(case: Case) -> None:
    young = minted(case, 1)
    seed = case.seed().dead(young, died_at=-9)
    case.given(seed)
    case.keeps(purge(case.keys, age_ms=3 * HOUR), Purged(0, None))
    case.keeps(purge(case.keys, age_ms=3 * HOUR, limit=1), Purged(0, None))


def test_the_walk_goes_up_in_slices(case: Case) -> None:
    seed = case.seed().dead(J1, died_at=-5).dead(J2, died_at=0).dead(J3, died_at=-5).dead(J4, died_at=-5)
    case.given(seed)
    case.step(purge(case.keys, age_ms=3 * HOUR, limit=2), Purged(1, J2), seed.forget(J1))
    case.step(purge(case.keys, age_ms=3 * HOUR, limit=2, after=J2), Purged(2, J4), seed.forget(J3).forget(J4))
    case.keeps(purge(case.keys, age_ms=3 * HOUR, limit=2, after=J4), Purged(0, None))


def test_ghosts_and_broken_ones_count_as_of_their_mint(case: Case) -> None:
    young = minted(case, 1)
    seed = case.seed().dead(J2).broken(J2).member(case.keys.dead, J1, 0).dead(young).broken(young)
    case.given(seed)
    after = case.seed().dead(young).broken(young)
    case.step(purge(case.keys, age_ms=3 * HOUR), Purged(2, None), after)


def test_a_job_that_lives_elsewhere_is_not_deleted_for_an_entry_left_among_the_dead(case: Case) -> None:
    seed = case.seed().dead(J1, died_at=-5).pending(J2).member(case.keys.dead, J2, 0)
    case.given(seed)
    after = case.seed().pending(J2).member(case.keys.dead, J2, 0)
    case.step(purge(case.keys, age_ms=0), Purged(1, None), after)


def test_age_zero_deletes_all_that_are_dead(case: Case) -> None:
    case.given(case.seed().dead(J1, died_at=0).dead(minted(case, 1)))
    case.step(purge(case.keys, age_ms=0), Purged(2, None), case.seed())


def test_the_raw_reply(case: Case) -> None:
    case.given(case.seed().dead(J1).dead(J2).dead(J3))
    case.replies(purge(case.keys, age_ms=0, limit=2), [b"purged", 2, J2])
    case.replies(purge(case.keys, age_ms=0, limit=2, after=J2), [b"purged", 1, b""])


@pytest.mark.parametrize("limit", [0, 1001])
def test_w44_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        purge(case.keys, age_ms=0, limit=limit)
