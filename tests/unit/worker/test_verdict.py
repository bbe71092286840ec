import pytest

from echomq.records import Completion, Token
from echomq.worker import Backoff, WorkerOptions
from echomq.worker.verdict import Cancelled, Drop, Outcome, Raised, Release, Retry, Returned, Verdict, verdict
from tests.unit.worker.parts import FixedDice, hold, jid

OPTIONS = WorkerOptions(max_attempts=4, result_ttl_ms=60_000, retry=Backoff(jitter=0.0))


@pytest.mark.parametrize(
    ("outcome", "token", "is_cancelled", "expected"),
    [
        (Returned(b"r"), 1, False, Completion(jid(), Token(1), b"r", 60_000)),
        (Returned(None), 7, False, Completion(jid(), Token(7), None, 60_000)),
        (Returned(b"r"), 2, True, Completion(jid(), Token(2), b"r", 60_000)),
        (Raised("boom"), 1, False, Retry(1_000, 4, "boom")),
        (Raised("boom"), 3, False, Retry(4_000, 4, "boom")),
        (Raised("boom"), 99, False, Retry(900_000, 4, "boom")),
        (Raised("boom"), 3, True, Release()),
        (Cancelled(), 3, True, Release()),
    ],
)
def test_each_outcome_has_its_call(outcome: Outcome, token: int, is_cancelled: bool, expected: Verdict) -> None:
    attempt = hold(token=token, deadline_ms=100)
    attempt.is_cancelled = is_cancelled
    assert verdict(attempt, outcome, OPTIONS, FixedDice(0.5), now_ms=99) == expected


@pytest.mark.parametrize("outcome", [Returned(b"r"), Raised("boom"), Cancelled()])
def test_a_lost_lease_overrules_every_outcome(outcome: Outcome) -> None:
    attempt = hold(deadline_ms=100)
    attempt.lost = "somebody else has it"
    assert verdict(attempt, outcome, OPTIONS, FixedDice(0.5), now_ms=99) == Drop("somebody else has it")


@pytest.mark.parametrize("outcome", [Returned(b"r"), Raised("boom"), Cancelled()])
def test_a_lease_that_ran_out_unnoticed_overrules_every_outcome(outcome: Outcome) -> None:
    assert isinstance(verdict(hold(deadline_ms=100), outcome, OPTIONS, FixedDice(0.5), now_ms=100), Drop)
