"""repair: docs/wire.md, moving. Case 9: active without a lease."""

import pytest

from echomq.errors import BadInput
from echomq.ids import JobId
from echomq.transitions.repair import repair
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2, J3, J4, J5, J6, PARENT, RED
from tests.harness.state import Seed, job_number


def walk(case: Case, *, budget: int = 1000) -> set[JobId]:
    """Repair slice by slice to the end and return all ids that were put back."""
    found: set[JobId] = set()
    cursor: str | None = None
    for _ in range(10_000):
        slice_of = case.body.run(repair(case.keys, cursor=cursor, budget=budget))
        found.update(slice_of.jobs)
        cursor = slice_of.cursor
        if cursor is None:
            return found
    raise AssertionError("the walk does not end")


def in_every_place(case: Case) -> Seed:
    seed = case.seed().pending(J1).active(J2, 1, ends=-1).scheduled(J3, due=1).dead(J4)
    return seed.pending(J5, group=RED.encode()).row(PARENT, state=b"awaiting_children")


def test_what_has_a_place_stays(case: Case) -> None:
    seed = in_every_place(case)
    case.given(seed)
    assert walk(case) == set()
    case.shows(seed)


@pytest.mark.parametrize("state", ["pending", "active", "scheduled"])
def test_case_09_a_job_in_no_set_is_made_ready(case: Case, state: str) -> None:
    seed = in_every_place(case)
    case.given(seed.copy().row(J6, state=state.encode(), attempts=2))
    assert walk(case) == {J6}
    case.shows(seed.copy().pending(J6, 2).wakes(1))


def test_a_dead_job_in_no_set_is_put_back_to_dead(case: Case) -> None:
    case.given(case.seed().row(J6, state=b"dead", attempts=2, died_at=-1))
    assert walk(case) == {J6}
    case.shows(case.seed().dead(J6, 2, died_at=-1))


def test_a_grouped_job_goes_back_to_its_own_lane(case: Case) -> None:
    case.given(case.seed().row(J6, state=b"active", attempts=1, group=RED.encode()))
    assert walk(case) == {J6}
    case.shows(case.seed().pending(J6, 1, group=RED.encode()).wakes(1))


def test_w04_skeletons_subkeys_and_broken_rows_are_no_jobs(case: Case) -> None:
    seed = case.seed().fields(case.keys.job(J1), state=b"pending").string(case.keys.job(J2), b"another program's")
    seed.fields(case.keys.job_result(J3), result=b"r", attempts=1, completed_at=0).lines(case.keys.job_logs(J4), b"a")
    case.given(seed)
    assert walk(case) == set()
    case.shows(seed)


def test_slices_miss_nothing(case: Case) -> None:
    seed, after = case.seed(), case.seed()
    for number in range(1, 61):
        seed.row(job_number(number), state=b"active", attempts=1)
        after.pending(job_number(number), 1)
    case.given(seed)
    assert walk(case, budget=5) == {job_number(number) for number in range(1, 61)}
    case.body.delete([case.keys.wake])  # of the first slice that found something, however many that were
    case.shows(after)


@pytest.mark.parametrize("budget", [0, 1001])
def test_w44_the_budget_is_one_to_a_thousand(case: Case, budget: int) -> None:
    with pytest.raises(BadInput):
        repair(case.keys, budget=budget)


@pytest.mark.parametrize("body", ["lua"], indirect=True)  # other languages call the script
@pytest.mark.parametrize("cursor", [b"abc", b"-1", b"1.5", b"9" * 25])
def test_rule_1_a_cursor_that_is_none_is_refused_before_the_first_write(case: Case, cursor: bytes) -> None:
    case.given(case.seed().row(J6, state=b"active", attempts=1))
    case.errs(published_form(repair(case.keys), cursor, 1000), "ERR")
