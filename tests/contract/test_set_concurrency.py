"""set_concurrency: docs/wire.md, lanes; and the wake-ups of resume."""

import pytest

from echomq.errors import BadInput
from echomq.records import ConcurrencySet, Resumed
from echomq.transitions.checks import ATTEMPTS_MAX
from echomq.transitions.resume import resume
from echomq.transitions.set_concurrency import set_concurrency
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, RED
from tests.harness.published import as_published
from tests.harness.state import Seed, job_number

red, blue = RED.encode(), BLUE.encode()


def waiting(case: Case, *, flat: int = 0, lanes: dict[str, int] | None = None, active: int = 0) -> Seed:
    seed = case.seed()
    numbers = iter(range(1, 5000))
    for _ in range(flat):
        seed.pending(job_number(next(numbers)))
    for lane, count in (lanes or {}).items():
        for _ in range(count):
            seed.pending(job_number(next(numbers)), group=lane.encode())
    for _ in range(active):
        seed.active(job_number(next(numbers)), 1, ends=1)
    return seed


def test_the_ceiling_is_set_replaced_and_taken_away(case: Case) -> None:
    case.step(set_concurrency(case.keys, 5), ConcurrencySet(5), case.seed().concurrency(5))
    case.step(set_concurrency(case.keys, 9), ConcurrencySet(9), case.seed().concurrency(9))
    case.step(set_concurrency(case.keys, None), ConcurrencySet(None), case.seed())
    case.keeps(set_concurrency(case.keys, None), ConcurrencySet(None))
    case.replies(set_concurrency(case.keys, 1), 1)


def test_a_pause_stays(case: Case) -> None:
    case.given(case.seed().paused())
    case.step(set_concurrency(case.keys, 5), ConcurrencySet(5), case.seed().paused().concurrency(5))


@pytest.mark.parametrize(
    ("flat", "lanes", "active", "most", "worth"),
    [
        (9, {}, 2, 6, 4),
        (3, {}, 2, 9, 3),
        (0, {RED: 4, BLUE: 2}, 1, 100, 6),
        (2, {RED: 4}, 1, 4, 3),
        (5, {}, 3, 3, 0),
        (5, {}, 4, 3, 0),
        (0, {}, 1, 5, 0),
        (7, {RED: 1}, 1, None, 8),
        (1500, {}, 0, None, 1000),
    ],
    ids=str,
)
def test_rule_12_free_seats_wake_for_the_jobs_that_are_known_to_be_servable(
    case: Case, flat: int, lanes: dict[str, int], active: int, most: int | None, worth: int
) -> None:
    seed = waiting(case, flat=flat, lanes=lanes, active=active)
    case.given(seed.copy().concurrency(1))
    after = seed.copy() if most is None else seed.copy().concurrency(most)
    case.step(set_concurrency(case.keys, most), ConcurrencySet(most), after.wakes(worth) if worth else after)


def test_rule_12_a_limit_bounds_what_is_known_to_be_servable(case: Case) -> None:
    seed = waiting(case, lanes={RED: 9}).limit(RED, 3).in_flight(RED, 1)
    case.given(seed)
    case.step(set_concurrency(case.keys, 50), ConcurrencySet(50), seed.copy().concurrency(50).wakes(2))


def test_rule_12_the_first_64_lanes_of_the_ring_are_looked_at(case: Case) -> None:
    seed = waiting(case, lanes={f"l{number}": 2 for number in range(70)})
    case.given(seed)
    case.step(set_concurrency(case.keys, None), ConcurrencySet(None), seed.copy().wakes(128))


def test_rule_12_nobody_is_woken_where_a_token_lies(case: Case) -> None:
    seed = waiting(case, flat=9).wakes(2)
    case.given(seed)
    case.step(set_concurrency(case.keys, 5), ConcurrencySet(5), seed.copy().concurrency(5))


def test_resume_wakes_as_many_as_can_be_served(case: Case) -> None:
    seed = waiting(case, flat=3, lanes={RED: 2})
    case.given(seed.copy().paused())
    case.step(resume(case.keys), Resumed(), seed.copy().wakes(5))


def test_resume_wakes_no_more_than_the_ceiling_allows(case: Case) -> None:
    seed = waiting(case, flat=3, lanes={RED: 2}, active=2).concurrency(4)
    case.given(seed.copy().paused())
    case.step(resume(case.keys), Resumed(), seed.copy().wakes(2))


def test_resume_wakes_nobody_where_nothing_waits_or_a_token_lies(case: Case) -> None:
    case.given(case.seed().paused())
    case.step(resume(case.keys), Resumed(), case.seed())
    seed = waiting(case, flat=3).wakes(1)
    case.given(seed.copy().paused())
    case.step(resume(case.keys), Resumed(), seed)


def test_the_published_resume_wakes_nobody(case: Case) -> None:
    seed = waiting(case, flat=3)
    case.given(seed.copy().paused())
    case.replies(as_published(resume(case.keys), case.keys), 1)
    case.shows(seed)


def test_rule_1_a_wrong_key_of_any_kind_changes_nothing(case: Case) -> None:
    for key in (case.keys.meta, case.keys.wake):
        case.given(case.seed().pending(J1).drop(key).string(key, b"x"))
        case.refuses_type(set_concurrency(case.keys, 5))


def test_what_cannot_be_read_counts_for_no_servable_job(case: Case) -> None:
    seed = waiting(case, flat=2, lanes={RED: 3})
    for key, worth in ((case.keys.pending, 3), (case.keys.ring, 2)):
        spoilt = seed.copy().drop(key).string(key, b"x")
        case.given(spoilt)
        case.step(set_concurrency(case.keys, 9), ConcurrencySet(9), spoilt.copy().concurrency(9).wakes(worth))


def test_in_a_paused_queue_nobody_is_woken(case: Case) -> None:
    seed = waiting(case, flat=2).paused()
    case.given(seed)
    case.step(set_concurrency(case.keys, 9), ConcurrencySet(9), seed.copy().concurrency(9))


@pytest.mark.parametrize("most", [0, -1, ATTEMPTS_MAX + 1])
def test_a_ceiling_has_its_range(case: Case, most: int) -> None:
    set_concurrency(case.keys, ATTEMPTS_MAX)
    with pytest.raises(BadInput):
        set_concurrency(case.keys, most)
