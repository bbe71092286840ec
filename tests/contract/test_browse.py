"""browse: docs/wire.md, reading; protocol 4.11."""

import pytest

from echomq.errors import BadInput, InvalidOption
from echomq.ids import JobId
from echomq.records import BrowsedJob
from echomq.states import SetName
from echomq.transitions.browse import browse
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.lua import LuaBody
from tests.harness.model import ModelBody
from tests.harness.state import Seed, job_number


def full(case: Case) -> Seed:
    seed = case.seed()
    for job, due in ((J1, 3), (J2, 1), (J3, 2)):
        seed.scheduled(job, due=due)
    return seed


def jobs_of(case: Case, name: SetName, **options: object) -> list[JobId]:
    page = case.body.run(browse(case.keys, name, **options))  # type: ignore[arg-type]  # passed through
    assert page.name is name
    return [job.job for job in page.jobs]


@pytest.mark.parametrize("name", [SetName.PENDING, SetName.DEAD])
def test_pending_and_dead_are_newest_first_unless_told(case: Case, name: SetName) -> None:
    seed = case.seed()
    for job in (J1, J2, J3):
        seed = seed.pending(job) if name is SetName.PENDING else seed.dead(job)
    case.given(seed)
    assert jobs_of(case, name) == [J3, J2, J1]
    assert jobs_of(case, name, newest_first=False) == [J1, J2, J3]
    assert jobs_of(case, name, limit=2) == [J3, J2]
    page = case.body.run(browse(case.keys, name))
    assert page.jobs[0] == BrowsedJob(J3, None)
    assert page.after is None
    case.shows(seed)


def test_schedule_and_active_are_soonest_first_with_their_instant(case: Case) -> None:
    case.given(full(case).active(J4, 1, ends=5))
    page = case.body.run(browse(case.keys, SetName.SCHEDULE))
    assert page.jobs == (BrowsedJob(J2, 1), BrowsedJob(J3, 2), BrowsedJob(J1, 3))
    assert jobs_of(case, SetName.SCHEDULE, newest_first=True) == [J1, J3, J2]
    assert case.body.run(browse(case.keys, SetName.ACTIVE)).jobs == (BrowsedJob(J4, 5),)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("name", list(SetName))
def test_pages_give_each_job_once_whatever_the_scores(case: Case, name: SetName, *, newest_first: bool) -> None:
    seed = case.seed()
    jobs = [job_number(n) for n in range(1, 24)]
    for number, job in enumerate(jobs):
        match name:
            case SetName.PENDING:
                seed.pending(job)
            case SetName.DEAD:
                seed.dead(job)
            case SetName.ACTIVE:
                seed.active(job, 1, ends=number % 3)
            case SetName.SCHEDULE:
                seed.scheduled(job, due=number % 3)
    case.given(seed)
    seen: list[JobId] = []
    after: BrowsedJob | None = None
    for _ in range(20):
        page = case.body.ask(browse(case.keys, name, limit=5, newest_first=newest_first, after=after))
        seen += [job.job for job in page.jobs]
        after = page.after
        if after is None:
            break
    assert sorted(seen) == jobs
    timed = name in (SetName.ACTIVE, SetName.SCHEDULE)
    order = sorted(jobs, key=lambda job: (jobs.index(job) % 3 if timed else 0, job), reverse=newest_first)
    assert seen == order


def test_a_page_begins_strictly_after_the_given_place_even_when_that_has_left(case: Case) -> None:
    case.given(case.seed().pending(J1).pending(J3))
    assert jobs_of(case, SetName.PENDING, after=BrowsedJob(J2, None)) == [J1]
    assert jobs_of(case, SetName.PENDING, after=BrowsedJob(J2, None), newest_first=False) == [J3]
    case.given(full(case))
    after = BrowsedJob(J3, case.body.at_ms(2))
    assert jobs_of(case, SetName.SCHEDULE, after=after) == [J1]
    assert jobs_of(case, SetName.SCHEDULE, after=after, newest_first=True) == [J2]


def test_a_lane_is_browsed_like_pending_and_has_its_own_jobs_only(case: Case) -> None:
    seed = case.seed().pending(J4)
    for job, lane in ((J1, RED), (J2, BLUE), (J3, RED)):
        seed.pending(job, group=lane.encode())
    case.given(seed)
    assert jobs_of(case, SetName.PENDING, lane=RED) == [J3, J1]
    assert jobs_of(case, SetName.PENDING, lane=RED, newest_first=False) == [J1, J3]
    assert jobs_of(case, SetName.PENDING, lane=BLUE) == [J2]
    assert jobs_of(case, SetName.PENDING, lane="nobody") == []
    assert jobs_of(case, SetName.PENDING) == [J4]
    first = case.body.run(browse(case.keys, SetName.PENDING, lane=RED, limit=1))
    assert first.after == BrowsedJob(J3, None)
    assert jobs_of(case, SetName.PENDING, lane=RED, after=first.after) == [J1]
    case.shows(seed)


def test_an_empty_set_is_an_empty_page(case: Case) -> None:
    for name in SetName:
        assert jobs_of(case, name) == []


@pytest.mark.parametrize("limit", [0, 1001])
def test_w44_the_limit_is_one_to_a_thousand(case: Case, limit: int) -> None:
    with pytest.raises(BadInput):
        browse(case.keys, SetName.PENDING, limit=limit)


SCORES = ("-inf", "-1.5", "0", "1796058229941.5", "1796058229941.75", "1796058229942.5", "1e300", "inf", "inf")


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("name", [SetName.SCHEDULE, SetName.PENDING])
def test_paging_goes_on_whatever_scores_another_speaker_wrote(case: Case, name: SetName, *, newest_first: bool) -> None:
    jobs = [job_number(number) for number in range(1, 1 + len(SCORES))]
    key = case.keys.schedule if name is SetName.SCHEDULE else case.keys.pending
    for job, score in zip(jobs, SCORES, strict=True):
        put(case, key, job, score)
    seen: list[BrowsedJob] = []
    after: BrowsedJob | None = None
    for _ in range(len(SCORES) + 1):
        page = case.body.ask(browse(case.keys, name, limit=1, newest_first=newest_first, after=after))
        seen += page.jobs
        after = page.after
        if after is None:
            break
    if newest_first:
        seen.reverse()
    assert [one.job for one in seen] == jobs
    if name is SetName.SCHEDULE:
        whole = [1796058229941, 1796058229941, 1796058229942, int(1e300)]
        assert [one.at_ms for one in seen] == [None, -1, 0, *whole, None, None]


def put(case: Case, key: bytes, job: JobId, score: str) -> None:
    """Write a member as another program does. The harness knows whole scores only."""
    if isinstance(case.body, LuaBody):
        case.body.wire.ask("ZADD", key, score, job)
    else:
        assert isinstance(case.body, ModelBody)
        case.body.keyspace.zset(key).add(job, float(score))


@pytest.mark.parametrize("after", ["JOB00000000001", b"JOB00000000001", job_number(1), 5])
def test_a_place_is_what_a_page_has_told(case: Case, after: object) -> None:
    with pytest.raises(InvalidOption, match="the `after` of the page before"):
        browse(case.keys, SetName.DEAD, after=after)  # type: ignore[arg-type]  # the mistake under test
