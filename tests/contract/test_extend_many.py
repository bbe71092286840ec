"""extend_many: protocol 4.12 (many), rule 4 of docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.records import NotExtended, Token
from echomq.transitions.extend_many import extend_many
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2, J3, J4, J5, J6
from tests.harness.state import HOUR, job_number


def test_exactly_the_stale_the_missing_and_the_unleased_are_returned(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1).active(J2, 2, ends=1).pending(J4, 1).active(J5, 3, ends=-1)
    seed.scheduled(J6, 1, due=1)
    case.given(seed)
    held = [(J1, Token(1)), (J2, Token(1)), (J3, Token(1)), (J4, Token(1)), (J5, Token(3)), (J6, Token(1))]
    after = seed.copy().active(J1, ends=4).active(J5, ends=4)
    case.step(extend_many(case.keys, held, lease_ms=4 * HOUR), NotExtended((J2, J3, J4, J6)), after)


def test_w05_extension_does_not_revive_what_is_not_leased(case: Case) -> None:
    case.given(case.seed().pending(J1, 1).scheduled(J2, 1, due=1).dead(J3, 1))
    held = [(J1, Token(1)), (J2, Token(1)), (J3, Token(1))]
    case.keeps(extend_many(case.keys, held, lease_ms=HOUR), NotExtended((J1, J2, J3)))


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).active(J2, 1, ends=1))
    call = extend_many(case.keys, [(J1, Token(1))], lease_ms=HOUR)
    case.replies(published_form(call, case.keys.base, 2 * HOUR, J1, 1, J2, 2), [J2])
    case.replies(published_form(call, case.keys.base, 2 * HOUR, J1, 1, J2, 1), [])
    case.shows(case.seed().active(J1, 1, ends=2).active(J2, 1, ends=2))


def test_no_other_lease_is_touched_whatever_its_id(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1).active(J2, 1, ends=1)
    for odd in (b"", b"\0", b"-"):
        seed.member(case.keys.active, odd, 2)
    case.given(seed)
    call = extend_many(case.keys, [(J2, Token(1)), (J2, Token(1)), (J3, Token(1))], lease_ms=3 * HOUR)
    case.step(call, NotExtended((J3,)), seed.copy().member(case.keys.active, J2, 3))


def test_a_broken_row_is_not_extended_and_the_others_are(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1).broken(J1).active(J2, 1, ends=1)
    case.given(seed)
    call = extend_many(case.keys, [(J1, Token(1)), (J2, Token(1))], lease_ms=3 * HOUR)
    case.step(call, NotExtended((J1,)), seed.copy().member(case.keys.active, J2, 3))


def test_w44_a_thousand_and_not_one_more(case: Case) -> None:
    seed, after = case.seed(), case.seed()
    jobs = [job_number(n) for n in range(1, 1001)]
    for job in jobs:
        seed.active(job, 1, ends=1)
        after.active(job, 1, ends=2)
    case.given(seed)
    held = [(job, Token(1)) for job in jobs]
    case.step(extend_many(case.keys, held, lease_ms=2 * HOUR), NotExtended(()), after)
    with pytest.raises(BadInput):
        extend_many(case.keys, [*held, (job_number(1001), Token(1))], lease_ms=HOUR)
