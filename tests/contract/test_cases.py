"""Cases of trouble that users of other queues have met, for the flat life cycle, by number and rule.

Cases 9 and 55 stand with repair and remove; case 33, the emptied script cache, is an option of the whole run
(``--script-flush-hz``) and scenario 7 of the conformance suite.
"""

import pytest

from echomq.ids import JobId
from echomq.records import (
    Claimed,
    Completed,
    Empty,
    Finished,
    Gone,
    PromotedMany,
    Reaped,
    Scheduled,
    Stale,
    StoredJob,
    Token,
)
from echomq.transitions.add_log import add_log
from echomq.transitions.claim import claim
from echomq.transitions.complete import complete
from echomq.transitions.enqueue import enqueue
from echomq.transitions.get_job import get_job
from echomq.transitions.get_result import get_result
from echomq.transitions.logs import logs
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_in
from echomq.transitions.update_progress import update_progress
from tests.contract.samples import SAMPLES
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, RED
from tests.harness.state import HOUR, job_number

ONE, TWO = Token(1), Token(2)
EVERY_BYTE = bytes(range(256))


def test_case_05_a_worker_killed_in_the_middle_costs_an_attempt_and_the_job_runs_again(case: Case) -> None:
    case.given(case.seed().pending(J1))
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", ONE)
    case.keeps(claim(case.keys, lease_ms=HOUR), Empty())
    case.body.advance(1)
    assert case.body.run(reap(case.keys, max_attempts=3)).recovered == (J1,)
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", TWO)


def test_case_07_recovery_depends_on_the_jobs_own_lease_only(case: Case) -> None:
    case.given(case.seed().pending(J1).pending(J2))
    case.body.run(claim(case.keys, lease_ms=100 * HOUR))
    case.body.run(claim(case.keys, lease_ms=HOUR))
    case.body.advance(1)
    assert case.body.run(reap(case.keys)) == Reaped((J2,), (), (), more=False)
    case.body.advance(98)
    assert case.body.run(reap(case.keys)) == Reaped((), (), (), more=False)
    case.body.advance(1)
    assert case.body.run(reap(case.keys)) == Reaped((J1,), (), (), more=False)


def test_case_19_a_delayed_job_is_unleased_until_it_is_due_and_runs_once(case: Case) -> None:
    case.body.run(enqueue_in(case.keys, J1, b"p", delay_ms=10 * HOUR))
    for _ in range(3):
        case.body.advance(3)
        assert case.body.run(reap(case.keys)) == Reaped((), (), (), more=False)
        assert case.body.run(promote(case.keys)) == PromotedMany(0, more=False)
        assert case.body.run(claim(case.keys, lease_ms=2 * HOUR)) == Empty()
    case.body.advance(1)
    served = []
    for _ in range(3):
        case.body.run(promote(case.keys))
        served.append(case.body.run(claim(case.keys, lease_ms=2 * HOUR)))
    assert served == [Claimed(J1, b"p", ONE), Empty(), Empty()]


def test_case_21_a_new_attempt_invalidates_the_old_one(case: Case) -> None:
    case.given(case.seed().pending(J1))
    for attempt in range(1, 6):
        assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", Token(attempt))
        for old in range(1, attempt):
            case.keeps(complete(case.keys, J1, Token(old)), Stale(J1))
            case.keeps(retry(case.keys, J1, Token(old), delay_ms=0, max_attempts=9, error="e"), Stale(J1))
        case.body.advance(1)
        case.body.run(reap(case.keys))


def test_case_25_a_late_finish_is_refused_and_stores_no_result(case: Case) -> None:
    case.given(case.seed().pending(J1))
    case.body.run(claim(case.keys, lease_ms=HOUR))
    case.body.advance(1)
    case.body.run(reap(case.keys))
    case.body.run(claim(case.keys, lease_ms=HOUR))
    case.keeps(complete(case.keys, J1, ONE, result=b"late", result_ttl_ms=HOUR), Stale(J1))
    assert case.body.run(complete(case.keys, J1, TWO, result=b"right", result_ttl_ms=HOUR)) == Completed(J1)
    assert case.body.run(get_result(case.keys, J1)) == Finished(J1, b"right", 2, 1)


def test_case_65_no_handle_reads_a_clock(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Producers and workers whose clocks disagree send the same calls: due times and leases are the server's."""

    def clock() -> int:
        raise AssertionError("a handle read the clock")

    for name in ("time", "time_ns", "monotonic", "monotonic_ns"):
        monkeypatch.setattr(f"time.{name}", clock)
    for sample in SAMPLES:
        _, call = sample.build(case)
        assert call.args is not None


def test_case_67_a_job_that_retries_for_thirty_hours_has_no_hidden_expiry(case: Case) -> None:
    case.given(case.seed().pending(J1, group=RED.encode()).pending(J2))
    for attempt in range(1, 31):
        assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J2, b"p", Token(attempt))
        call = retry(case.keys, J2, Token(attempt), delay_ms=HOUR, max_attempts=99, error="e")
        assert case.body.run(call) == Scheduled(J2)
        assert all(entry.ttl is None and not entry.field_ttls for entry in case.body.dump().values())
        case.body.advance(1)
        assert case.body.run(promote(case.keys)).count == 1
    seed = case.seed().pending(J1, group=RED.encode()).pending(J2, 30, last_error=b"e").wakes(1)
    case.shows(seed)


def test_case_71_every_byte_comes_back_as_it_went_in(case: Case) -> None:
    case.body.run(enqueue(case.keys, J1, EVERY_BYTE))
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, EVERY_BYTE, ONE)
    case.body.run(update_progress(case.keys, J1, EVERY_BYTE, token=ONE))
    case.body.run(add_log(case.keys, J1, EVERY_BYTE, token=ONE))
    stored = case.body.run(get_job(case.keys, J1))
    assert isinstance(stored, StoredJob)
    assert (stored.payload, stored.progress) == (EVERY_BYTE, EVERY_BYTE)
    kept = case.body.run(logs(case.keys, J1))
    assert not isinstance(kept, Gone)
    assert kept.lines == (EVERY_BYTE,)
    assert case.body.run(complete(case.keys, J1, ONE, result=EVERY_BYTE, result_ttl_ms=HOUR)) == Completed(J1)
    assert case.body.run(get_result(case.keys, J1)) == Finished(J1, EVERY_BYTE, 1, 0)


@pytest.mark.parametrize("size", [0, 1, 1 << 16, 1 << 20])
def test_a_payload_of_any_size_comes_back(case: Case, size: int) -> None:
    payload = b"\xa5" * size
    case.body.run(enqueue(case.keys, J1, payload))
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, payload, ONE)


def test_order_is_the_order_of_minting_over_the_whole_range(case: Case) -> None:
    jobs = [JobId.of_snowflake(n) for n in (0, 1, 61, 62, 2**22, 2**31, 2**53, 2**62, 2**63 - 1)]
    for job in reversed(jobs):
        case.body.run(enqueue(case.keys, job, b"p"))
    assert [case.body.run(claim(case.keys, lease_ms=HOUR)) for _ in jobs] == [Claimed(job, b"p", ONE) for job in jobs]


def test_a_retried_job_goes_back_to_its_mint_place(case: Case) -> None:
    case.given(case.seed().scheduled(job_number(1), 1, due=-1).pending(job_number(2)))
    case.body.run(promote(case.keys))
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(job_number(1), b"p", TWO)
