"""The conformance scenarios of protocol 7 that the flat life cycle covers, by number and name, on every body."""

import json

import pytest

from echomq.drivers.blocking import BlockingClient
from echomq.errors import BadInput, KindRefused
from echomq.keys import VERSION
from echomq.options import ConnectionOptions
from echomq.records import (
    ActiveJobs,
    Claimed,
    ClaimedMany,
    Completed,
    Counts,
    Dead,
    Delayed,
    Drained,
    Duplicate,
    Empty,
    Enqueued,
    Extended,
    Gone,
    Locked,
    Logged,
    Logs,
    Metrics,
    NotDead,
    NotExtended,
    Obliterated,
    Paused,
    PromotedMany,
    Reaped,
    Removed,
    Reprocessed,
    Scheduled,
    Stale,
    Token,
    Updated,
)
from echomq.resp.reply import ErrorReply
from echomq.states import CountName, JobState, SetName
from echomq.transitions.add_log import add_log
from echomq.transitions.browse import browse
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.counts import counts
from echomq.transitions.delay import delay
from echomq.transitions.drain import drain
from echomq.transitions.enqueue import enqueue
from echomq.transitions.extend import extend
from echomq.transitions.extend_many import extend_many
from echomq.transitions.get_state import get_state
from echomq.transitions.is_paused import is_paused
from echomq.transitions.logs import logs
from echomq.transitions.metrics import metrics
from echomq.transitions.obliterate import obliterate
from echomq.transitions.pause import pause
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.remove import remove
from echomq.transitions.reprocess import reprocess
from echomq.transitions.resume import resume
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_in
from echomq.transitions.update_data import update_data
from echomq.transitions.update_progress import update_progress
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2, J3, J4
from tests.harness.lua import LuaBody
from tests.harness.published import as_published
from tests.harness.state import HOUR
from tests.harness.wire import Wire
from tests.interop.speaker import Speaker
from tests.servers import RealServer

ONE, TWO = Token(1), Token(2)


def begin(case: Case, *jobs: bytes) -> None:
    for job in jobs:
        call = as_published(enqueue(case.keys, job, b"p"), case.keys)  # type: ignore[arg-type]  # job ids
        case.body.run(call)


def test_01_fence(real_server: RealServer) -> None:
    BlockingClient.connect(ConnectionOptions(url=real_server.url)).close()
    with Wire(real_server.unix_path) as wire:
        assert wire.ask("GET", VERSION) == b"echomq:2.4.2"


def test_02_mint(case: Case) -> None:
    begin(case, J1)
    row = case.body.dump()[case.keys.job(J1)].value
    assert row == {b"state": b"pending", b"attempts": b"0", b"payload": b"p"}


def test_03_duplicate(case: Case) -> None:
    begin(case, J1)
    case.keeps(enqueue(case.keys, J1, b"other"), Duplicate(J1))


def test_04_kind(case: Case) -> None:
    call = enqueue(case.keys, J1, b"p")
    case.refuses(published_form(call, b"ORD" + J1[3:], b"p"), KindRefused)


def test_05_order(case: Case) -> None:
    begin(case, J2, J3, J1)
    page = case.body.run(browse(case.keys, SetName.PENDING))
    assert [job.job for job in page.jobs] == [J3, J2, J1]


def test_06_claim(case: Case) -> None:
    begin(case, J1)
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", ONE)
    assert case.body.run(get_state(case.keys, J1)) is JobState.ACTIVE


def test_07_stale(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim(case.keys, lease_ms=HOUR))
    case.keeps(complete(case.keys, J1, TWO), Stale(J1))
    if isinstance(case.body, LuaBody):
        case.body.wire.ask("SCRIPT", "FLUSH")
    assert case.body.run(complete(case.keys, J1, ONE)) == Completed(J1)


def test_08_complete(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim(case.keys, lease_ms=HOUR))
    case.step(complete(case.keys, J1, ONE), Completed(J1), case.seed().completed(1))


def test_09_retry(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim(case.keys, lease_ms=HOUR))
    call = retry(case.keys, J1, ONE, delay_ms=0, max_attempts=3, error="boom")
    case.step(call, Scheduled(J1), case.seed().scheduled(J1, 1, due=0, last_error=b"boom"))
    assert case.body.run(promote(case.keys)) == PromotedMany(1, more=False)
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", TWO)


def test_10_dead(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim(case.keys, lease_ms=HOUR))
    call = retry(case.keys, J1, ONE, delay_ms=0, max_attempts=1, error="boom")
    case.step(call, Dead(J1), case.seed().dead(J1, 1, last_error=b"boom", died_at=0).failed(1))


def test_11_reap(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim(case.keys, lease_ms=HOUR))
    case.body.advance(1)
    case.step(reap(case.keys), Reaped((J1,), (), (), more=False), case.seed().pending(J1, 1).wakes(1))


def test_15_schedule(case: Case) -> None:
    assert case.body.run(enqueue_in(case.keys, J1, b"p", delay_ms=HOUR)) == Scheduled(J1)
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Empty()
    assert case.body.run(promote(case.keys)).count == 0
    case.body.advance(1)
    assert case.body.run(promote(case.keys)).count == 1
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", ONE)


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_17_backoff(case: Case, cap: int) -> None:
    begin(case, J1)
    for attempt in range(1, cap + 1):
        assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", Token(attempt))
        answer = case.body.run(retry(case.keys, J1, Token(attempt), delay_ms=0, max_attempts=cap, error="boom"))
        assert answer == (Scheduled(J1) if attempt < cap else Dead(J1))
        assert case.body.run(promote(case.keys)).count == (1 if attempt < cap else 0)


def test_19_counts(case: Case) -> None:
    case.given(case.seed().pending(J1).pending(J2).active(J3, 1, ends=1).dead(J4))
    assert case.body.run(counts(case.keys, ["pending", "active", "schedule", "dead"])) == Counts(
        {CountName.PENDING: 2, CountName.ACTIVE: 1, CountName.SCHEDULE: 0, CountName.DEAD: 1}
    )
    with pytest.raises(BadInput):
        counts(case.keys, ["waiting"])


def test_20_state(case: Case) -> None:
    case.given(case.seed().pending(J1).scheduled(J2, due=1))
    assert case.body.run(get_state(case.keys, J1)) is JobState.PENDING
    assert case.body.run(get_state(case.keys, J2)) is JobState.SCHEDULED
    assert case.body.run(get_state(case.keys, J3)) is JobState.ABSENT


def test_21_metrics(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim(case.keys, lease_ms=HOUR))
    case.body.run(complete(case.keys, J1, ONE))
    assert case.body.run(complete(case.keys, J1, ONE)) == Gone(J1)
    assert case.body.run(metrics(case.keys, CountName.COMPLETED)) == Metrics(1, 0)


def test_22_dedup(echo: Case, other: Speaker) -> None:
    begin(echo, J1)
    other.wire.ask("SET", echo.keys.dedup("d"), J1, "NX", "PX", HOUR)
    assert other.wire.ask("GET", other.key("de:d")) == J1
    assert other.wire.ask("GET", other.key("de:absent")) is None


def test_25_queue_pause(case: Case) -> None:
    begin(case, J1)
    case.body.run(pause(case.keys))
    assert case.body.run(is_paused(case.keys)) is True
    case.keeps(claim_many(case.keys, lease_ms=HOUR, size=9), Paused())
    case.body.run(resume(case.keys))
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", ONE)


def test_26_drain(case: Case) -> None:
    seed = case.seed().active(J3, 1, ends=1)
    case.given(seed.copy().pending(J1).pending(J2))
    case.step(drain(case.keys), Drained(2, more=False), seed)


def test_27_obliterate(case: Case) -> None:
    case.given(case.seed().paused().active(J1, 1, ends=1).pending(J2).scheduled(J3, due=1).dead(J4))
    case.keeps(obliterate(case.keys), ActiveJobs())
    cursor: str | None = None
    while (answer := case.body.run(obliterate(case.keys, force=True, cursor=cursor))) != Obliterated():
        cursor = getattr(answer, "cursor", None)
    case.shows(case.seed())


def test_28_update_data(case: Case) -> None:
    begin(case, J1)
    case.step(update_data(case.keys, J1, b"new"), Updated(J1), case.seed().pending(J1, payload=b"new"))
    case.keeps(update_data(case.keys, J2, b"new"), Gone(J2))


def test_29_update_progress(case: Case) -> None:
    begin(case, J1)
    case.body.listen()
    case.step(update_progress(case.keys, J1, b"50"), Updated(J1), case.seed().pending(J1, progress=b"50"))
    ((channel, message),) = case.body.published()
    assert channel == case.keys.events
    assert json.loads(message) == {"event": "progress", "job": str(J1), "progress": "50"}
    case.keeps(update_progress(case.keys, J2, b"50"), Gone(J2))


def test_30_job_logs(case: Case) -> None:
    begin(case, J1)
    answers = [case.body.run(add_log(case.keys, J1, line, keep=2)) for line in (b"a", b"b", b"c")]
    assert answers == [Logged(J1, 1), Logged(J1, 2), Logged(J1, 2)]
    case.keeps(logs(case.keys, J1), Logs((b"b", b"c"), 2))
    case.keeps(logs(case.keys, J2), Gone(J2))


def test_31_remove_job(case: Case) -> None:
    seed = case.seed().pending(J1).string(case.keys.dedup("d"), J1).pending(J2).string(case.keys.job_lock(J2), b"1")
    case.given(seed)
    case.keeps(remove(case.keys, J2), Locked(J2))
    after = seed.copy().forget(J1).drop(case.keys.dedup("d"))
    case.step(remove(case.keys, J1, dedup_id="d"), Removed(J1), after)


def test_32_reprocess_job(case: Case) -> None:
    case.given(case.seed().dead(J1, 3, last_error=b"e").pending(J2))
    case.keeps(reprocess(case.keys, J2), NotDead(J2))
    after = case.seed().pending(J1, 3).pending(J2).wakes(1)
    case.step(reprocess(case.keys, J1), Reprocessed(J1), after)


def test_33_lock_extend(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim(case.keys, lease_ms=HOUR))
    assert case.body.run(extend(case.keys, J1, ONE, lease_ms=3 * HOUR)) == Extended(J1)
    case.body.advance(2)
    case.keeps(reap(case.keys), Reaped((), (), (), more=False))
    case.keeps(extend(case.keys, J1, TWO, lease_ms=HOUR), Stale(J1))
    case.keeps(extend(case.keys, J2, ONE, lease_ms=HOUR), Gone(J2))


def test_38_unknown_state(case: Case) -> None:
    case.given(case.seed().row(J1, state=b"pending"))
    assert case.body.run(get_state(case.keys, J1)) is JobState.UNKNOWN


def test_41_extend_locks_batch(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).active(J2, 2, ends=1))
    call = extend_many(case.keys, [(J1, ONE), (J2, ONE), (J3, ONE)], lease_ms=2 * HOUR)
    case.step(call, NotExtended((J2, J3)), case.seed().active(J1, 1, ends=2).active(J2, 2, ends=1))


def test_62_batch_claim(case: Case) -> None:
    begin(case, J3, J1, J2)
    answer = case.body.run(claim_many(case.keys, lease_ms=HOUR, size=2))
    assert answer == ClaimedMany((Claimed(J1, b"p", ONE), Claimed(J2, b"p", ONE)), left=1)
    assert len({job.at_ms for job in case.body.ask(browse(case.keys, SetName.ACTIVE)).jobs}) == 1


def test_63_batch_claim_short(case: Case) -> None:
    call = claim_many(case.keys, lease_ms=HOUR, size=9)
    case.keeps(call, ClaimedMany((), left=0))
    begin(case, J1)
    case.body.run(pause(case.keys))
    case.keeps(call, Paused())
    case.body.run(resume(case.keys))
    assert case.body.run(call) == ClaimedMany((Claimed(J1, b"p", ONE),), left=0)


def test_64_batch_partial_failure(case: Case) -> None:
    begin(case, J1, J2, J3)
    case.body.run(claim_many(case.keys, lease_ms=HOUR, size=3))
    case.body.run(retry(case.keys, J2, ONE, delay_ms=HOUR, max_attempts=3, error="e"))
    assert case.body.run(complete(case.keys, J1, ONE)) == Completed(J1)
    assert case.body.run(complete(case.keys, J3, ONE)) == Completed(J3)
    case.shows(case.seed().scheduled(J2, 1, due=1, last_error=b"e").completed(2))


def test_72_batch_delay(case: Case) -> None:
    begin(case, J1)
    case.body.run(claim_many(case.keys, lease_ms=HOUR, size=1))
    assert case.body.run(delay(case.keys, J1, ONE, delay_ms=HOUR)) == Delayed(J1)
    case.shows(case.seed().scheduled(J1, 1, due=1))
    case.body.advance(1)
    case.body.run(promote(case.keys))
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", TWO)


def test_73_batch_delay_stale(case: Case) -> None:
    case.given(case.seed().active(J1, 2, ends=1))
    case.keeps(delay(case.keys, J1, ONE, delay_ms=HOUR), Stale(J1))
    case.keeps(delay(case.keys, J2, ONE, delay_ms=HOUR), Gone(J2))
    assert isinstance(case.body.reply(delay(case.keys, J2, ONE, delay_ms=HOUR)), ErrorReply)


def test_enqueued_is_the_word_of_a_first_admission(case: Case) -> None:
    assert case.body.run(enqueue(case.keys, J1, b"p")) == Enqueued(J1)
