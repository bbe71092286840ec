"""obliterate: protocol 4.18.4, remedied as in docs/wire.md."""

from typing import cast

import pytest

from echomq.errors import BadInput
from echomq.keys import QueueKeys
from echomq.records import ActiveJobs, MoreToObliterate, NotPaused, Obliterated
from echomq.resp.reply import ErrorReply
from echomq.transitions.enqueue import enqueue
from echomq.transitions.obliterate import obliterate
from echomq.transitions.schedule import enqueue_in
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, J6, PARENT, RED
from tests.harness.state import HOUR, Seed, State, job_number


def everything(case: Case) -> Seed:
    """Every kind of key that a queue can have."""
    keys, row = case.keys, case.keys.job(J1)
    seed = case.seed().paused().pending(J1).scheduled(J2, due=1).dead(J3).pending(J4, group=RED.encode())
    seed.pending(J5, group=BLUE.encode()).wakes(1, 3).parked("PRT00000000009").limit(BLUE, 1).in_flight(BLUE, 1)
    seed.row(PARENT, state=b"awaiting_children").string(keys.job(PARENT) + b":dependencies", b"1")
    seed.lines(row + b":logs", b"a").string(row + b":lock", b"1").fields(row + b":processed", x=b"1")
    seed.fields(row + b":failed", x=b"1").fields(row + b":unsuccessful", x=b"1").fields(row + b":result", result=b"r")
    seed.fields(keys.group_weight, **{RED: b"3"}).lines(keys.flow_outbox, b"entry").string(keys.dedup("d"), J1)
    seed.string(keys.stream_archived(b"s"), b"EVT00000000000").string(keys.limiter, b"1").completed(3).failed(2)
    seed.lines(keys.metrics_completed_data, b"1").lines(keys.metrics_failed_data, b"1").member(keys.repeat, b"r", 1)
    seed.rota(flat=1, turn=RED, left=2).owes_fresh("", RED).watched("me", until=1)
    return seed.fields(keys.repeatable(b"r"), every_ms=1000)


def to_the_end(case: Case, *, force: bool = False, budget: int = 1000) -> int:
    cursor: str | None = None
    for calls in range(1, 10_000):
        answer = case.body.run(obliterate(case.keys, force=force, budget=budget, cursor=cursor))
        if answer == Obliterated():
            return calls
        assert isinstance(answer, MoreToObliterate), answer
        assert case.keys.meta in case.body.dump(), "the queue stays paused until nothing else is left"
        cursor = answer.cursor
    raise AssertionError("it does not end")


def test_w41_it_misses_nothing(case: Case) -> None:
    case.given(everything(case))
    to_the_end(case)
    case.shows(case.seed())


def test_w41_it_misses_nothing_in_small_slices(case: Case) -> None:
    seed = everything(case)
    for number in range(300, 360):
        seed.pending(job_number(number))
    case.given(seed)
    to_the_end(case, budget=5)
    case.shows(case.seed())


def test_another_queue_is_not_touched(case: Case) -> None:
    names = [case.keys.queue + "x", case.keys.queue[:-1] or "x", "x" + case.keys.queue, case.keys.queue + ".b"]
    case.given(everything(case))
    kept: State = {}
    for name in names:
        kept |= Seed(QueueKeys(name)).pending(J6).paused().state()
    case.body.load(kept)
    to_the_end(case)
    case.shows(kept)


def test_a_queue_that_is_not_paused_is_refused_untouched(case: Case) -> None:
    case.given(case.seed().pending(J1).fields(case.keys.meta, concurrency=4))
    case.keeps(obliterate(case.keys, force=True), NotPaused())
    case.replies(obliterate(case.keys), ErrorReply("EMQSTATE not paused"))


def test_running_jobs_refuse_untouched_unless_forced(case: Case) -> None:
    case.given(everything(case).active(J6, 1, ends=1))
    case.keeps(obliterate(case.keys), ActiveJobs())
    case.replies(obliterate(case.keys), ErrorReply("EMQSTATE active jobs present"))
    to_the_end(case, force=True)
    case.shows(case.seed())


def test_the_raw_reply_at_the_end(case: Case) -> None:
    case.given(case.seed().paused().pending(J1))
    reply = case.body.reply(obliterate(case.keys))
    while isinstance(reply, bytes):
        reply = case.body.reply(obliterate(case.keys, cursor=reply.decode()))
    assert reply == 0


def test_published_arguments_and_an_empty_cursor(case: Case) -> None:
    for args in ((b"", 1000), (b"force", 1000), (b"", 1000, b"")):
        case.given(case.seed().paused().pending(J1))
        case.replies(published_form(obliterate(case.keys), *args), 0)
        case.shows(case.seed())


@pytest.mark.parametrize("budget", [0, 1001])
def test_w44_the_budget_is_one_to_a_thousand(case: Case, budget: int) -> None:
    with pytest.raises(BadInput):
        obliterate(case.keys, budget=budget)


@pytest.mark.parametrize("when", [1, 2, 5, 9])
def test_w41_what_a_live_producer_adds_is_deleted_whole_or_stays_whole(case: Case, when: int) -> None:
    """A row in no set would be a duplicate for ever that nobody runs."""
    seed = case.seed().paused()
    for number in range(300, 340):
        seed.pending(job_number(number)).lines(case.keys.job_logs(job_number(number)), b"a")
    case.given(seed)
    cursor: str | None = None
    for calls in range(1, 1000):
        answer = case.body.run(obliterate(case.keys, budget=7, cursor=cursor))
        if calls % when == 0 and calls <= 40:
            case.body.run(enqueue(case.keys, job_number(400 + calls), b"late"))
            case.body.run(enqueue_in(case.keys, job_number(500 + calls), b"late", delay_ms=HOUR))
        if answer == Obliterated():
            break
        assert isinstance(answer, MoreToObliterate)
        cursor = answer.cursor
    left = case.body.dump()
    rows = {key[len(case.keys.job(J1)) - 14 :] for key in left if b":job:" in key}
    placed = {
        member
        for key in (case.keys.pending, case.keys.schedule)
        if key in left
        for member in cast("dict[bytes, int]", left[key].value)
    }
    assert rows == placed
    assert len(rows) <= 2, "only what came after the end may stay"


def test_w41_the_jobs_of_a_lane_go_with_the_lane(case: Case) -> None:
    seed = case.seed().paused()
    for number in range(300, 325):
        seed.pending(job_number(number), group=RED.encode())
    case.given(seed)
    assert to_the_end(case, budget=4) > 25 / 4
    case.shows(case.seed())


def test_sets_of_another_type_are_deleted_as_well(case: Case) -> None:
    seed = case.seed().paused().string(case.keys.pending, b"x").string(case.keys.dead, b"x").pending(J1, group=b"a")
    seed.drop(case.keys.lane("a")).string(case.keys.lane("a"), b"x")
    case.given(seed)
    to_the_end(case)
    case.shows(case.seed())


@pytest.mark.parametrize("body", ["lua"], indirect=True)  # other languages call the script
@pytest.mark.parametrize("cursor", [b"abc", b"-1", b"1.5", b"9" * 25])
def test_rule_1_a_cursor_that_is_none_is_refused_before_the_first_write(case: Case, cursor: bytes) -> None:
    case.given(everything(case))
    case.errs(published_form(obliterate(case.keys), b"", 1000, cursor), "ERR")
