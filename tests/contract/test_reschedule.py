"""reschedule: docs/wire.md, moving."""

import pytest

from echomq.errors import BadInput
from echomq.records import Gone, NotScheduled, Rescheduled
from echomq.transitions.reschedule import reschedule
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4
from tests.harness.state import HOUR


def test_a_scheduled_job_waits_for_another_instant(case: Case) -> None:
    seed = case.seed().scheduled(J1, 2, due=9).scheduled(J2, due=9)
    case.given(seed)
    after = seed.copy().scheduled(J1, due=2).wakes(1)
    case.step(reschedule(case.keys, J1, delay_ms=2 * HOUR), Rescheduled(J1, 2), after)
    call = reschedule(case.keys, J1, at_ms=case.body.at_ms(30))
    case.step(call, Rescheduled(J1, 30), after.copy().scheduled(J1, due=30))


def test_a_job_that_is_now_the_first_wakes_one_to_watch_for_it(case: Case) -> None:
    seed = case.seed().scheduled(J1, due=9).scheduled(J2, due=5)
    case.given(seed)
    case.step(reschedule(case.keys, J1, delay_ms=6 * HOUR), Rescheduled(J1, 6), seed.copy().scheduled(J1, due=6))
    case.given(seed.copy().wakes(3))
    case.step(reschedule(case.keys, J1, delay_ms=HOUR), Rescheduled(J1, 1), seed.copy().scheduled(J1, due=1).wakes(3))


def test_a_job_elsewhere_is_not_scheduled(case: Case) -> None:
    case.given(case.seed().pending(J1).active(J2, 1, ends=1).dead(J3))
    for job in (J1, J2, J3):
        case.keeps(reschedule(case.keys, job, delay_ms=HOUR), NotScheduled(job))


def test_no_job_is_gone(case: Case) -> None:
    case.keeps(reschedule(case.keys, J1, delay_ms=HOUR), Gone(J1))


def test_the_raw_replies(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=9).pending(J2))
    reply = case.body.reply(reschedule(case.keys, J1, at_ms=1_800_000_000_123))
    assert reply == [b"scheduled", b"1800000000123"]
    case.replies(reschedule(case.keys, J2, delay_ms=HOUR), [b"not_scheduled"])
    case.replies(reschedule(case.keys, J4, delay_ms=HOUR), [b"gone"])


def test_exactly_one_instant_is_given(case: Case) -> None:
    with pytest.raises(BadInput):
        reschedule(case.keys, J1)
    with pytest.raises(BadInput):
        reschedule(case.keys, J1, delay_ms=1, at_ms=1)


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=9).broken(J1))
    case.refuses_type(reschedule(case.keys, J1, delay_ms=HOUR), match=str(J1))
