"""obliterate: protocol 4.18.4, remedied as in docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.keys import QueueKeys
from echomq.records import ActiveJobs, MoreToObliterate, NotPaused, Obliterated
from echomq.resp.reply import ErrorReply
from echomq.transitions.obliterate import obliterate
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, J1, J2, J3, J4, J5, J6, PARENT, RED
from tests.harness.state import Seed, State, job_number


def everything(case: Case) -> Seed:
    """Every kind of key that a queue can have."""
    keys, row = case.keys, case.keys.job(J1)
    seed = case.seed().paused().pending(J1).scheduled(J2, due=1).dead(J3).pending(J4, group=RED.encode())
    seed.pending(J5, group=BLUE.encode()).ring(RED).wakes(1).parked("PRT00000000009").limit(BLUE, 1).in_flight(BLUE, 1)
    seed.row(PARENT, state=b"awaiting_children").string(keys.job(PARENT) + b":dependencies", b"1")
    seed.lines(row + b":logs", b"a").string(row + b":lock", b"1").fields(row + b":processed", x=b"1")
    seed.fields(row + b":failed", x=b"1").fields(row + b":unsuccessful", x=b"1").fields(row + b":result", result=b"r")
    seed.fields(keys.group_weight, **{RED: b"3"}).lines(keys.flow_outbox, b"entry").string(keys.dedup("d"), J1)
    seed.string(keys.stream_archived(b"s"), b"EVT00000000000").string(keys.limiter, b"1").completed(3).failed(2)
    seed.lines(keys.metrics_completed_data, b"1").lines(keys.metrics_failed_data, b"1").member(keys.repeat, b"r", 1)
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
