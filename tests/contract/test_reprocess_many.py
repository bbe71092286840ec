"""reprocess_many: docs/wire.md, moving."""

import pytest

from echomq.errors import BadInput
from echomq.records import ReprocessedMany
from echomq.transitions.reprocess_many import reprocess_many
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4, J5, RED


def test_all_dead_jobs_are_ready_again(case: Case) -> None:
    seed = case.seed().dead(J1, 3, last_error=b"e", died_at=-1).dead(J2, 2, group=RED.encode()).pending(J3)
    case.given(seed)
    after = seed.copy().pending(J1).pending(J2).wakes(1, 1)
    after.without(case.keys.job(J1), b"last_error", b"died_at")
    case.step(reprocess_many(case.keys), ReprocessedMany(2, None), after)


def test_fresh_lets_the_cap_count_anew(case: Case) -> None:
    seed = case.seed().dead(J1, 3, stalled=1)
    case.given(seed)
    after = seed.copy().pending(J1, unspent=3).without(case.keys.job(J1), b"stalled").wakes(1)
    case.step(reprocess_many(case.keys, fresh=True), ReprocessedMany(1, None), after)


def test_the_walk_goes_up_in_slices(case: Case) -> None:
    seed = case.seed().dead(J1).dead(J2).dead(J3)
    case.given(seed)
    case.step(reprocess_many(case.keys, limit=2), ReprocessedMany(2, J2), seed.pending(J1).pending(J2).wakes(2))
    answer = case.body.run(reprocess_many(case.keys, limit=2, after=J2))
    assert answer == ReprocessedMany(1, None)
    case.shows(seed.pending(J3))


def test_the_walk_starts_after_the_given_id_even_when_that_has_left(case: Case) -> None:
    seed = case.seed().dead(J1).dead(J3)
    case.given(seed)
    case.step(reprocess_many(case.keys, after=J2), ReprocessedMany(1, None), seed.copy().pending(J3).wakes(1))


def test_ghosts_are_dropped_broken_ones_stay_and_neither_counts(case: Case) -> None:
    seed = case.seed().dead(J1).broken(J1).dead(J3)
    case.given(seed.copy().member(case.keys.dead, J2, 0))
    case.step(reprocess_many(case.keys), ReprocessedMany(1, None), seed.copy().pending(J3).wakes(1))


def test_broken_ones_do_not_stop_the_walk(case: Case) -> None:
    seed = case.seed().dead(J1).broken(J1).dead(J2).broken(J2).dead(J3)
    case.given(seed)
    case.step(reprocess_many(case.keys, limit=2), ReprocessedMany(0, J2), seed)
    case.step(reprocess_many(case.keys, limit=2, after=J2), ReprocessedMany(1, None), seed.copy().pending(J3).wakes(1))


def test_the_raw_reply(case: Case) -> None:
    case.given(case.seed().dead(J1).dead(J2).dead(J4))
    case.replies(reprocess_many(case.keys, limit=2), [b"reprocessed", 2, J2])
    case.replies(reprocess_many(case.keys, limit=2, after=J2), [b"reprocessed", 1, b""])
    case.replies(reprocess_many(case.keys, limit=2, after=J5), [b"reprocessed", 0, b""])


@pytest.mark.parametrize("limit", [0, 1001])
def test_w44_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        reprocess_many(case.keys, limit=limit)
