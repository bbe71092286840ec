"""extend: protocol 4.12, rule 4 of docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.records import Extended, Gone, Stale, Token
from echomq.transitions.extend import extend
from echomq.transitions.reap import reap
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2
from tests.harness.state import HOUR


def test_the_lease_ends_later(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=1)
    case.given(seed)
    case.step(extend(case.keys, J1, Token(2), lease_ms=3 * HOUR), Extended(J1), seed.active(J1, ends=3))


def test_an_overdue_lease_that_nobody_took_is_still_the_holders(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-2)
    case.given(seed)
    case.step(extend(case.keys, J1, Token(1), lease_ms=HOUR), Extended(J1), seed.active(J1, ends=1))


def test_w05_extension_does_not_revive_what_is_not_leased(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=-1).scheduled(J2, 1, due=1))
    case.body.run(reap(case.keys))
    case.keeps(extend(case.keys, J1, Token(1), lease_ms=HOUR), Stale(J1))
    case.keeps(extend(case.keys, J2, Token(1), lease_ms=HOUR), Stale(J2))


def test_another_token_is_stale(case: Case) -> None:
    case.given(case.seed().active(J1, 2, ends=1))
    case.keeps(extend(case.keys, J1, Token(1), lease_ms=HOUR), Stale(J1))


def test_no_row_and_a_skeleton_are_gone(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J2), lock=b"1"))
    case.keeps(extend(case.keys, J1, Token(1), lease_ms=HOUR), Gone(J1))
    case.keeps(extend(case.keys, J2, Token(1), lease_ms=HOUR), Gone(J2))


def test_published_replies(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).pending(J2, 0))
    case.replies(published_form(extend(case.keys, J1, Token(1), lease_ms=HOUR), J1, 1, HOUR), 1)
    case.errs(published_form(extend(case.keys, J1, Token(1), lease_ms=HOUR), J1, b"01", HOUR), "EMQSTALE")
    case.errs(published_form(extend(case.keys, J2, Token(1), lease_ms=HOUR), J2, 0, HOUR), "EMQSTALE")
    case.body.drop()
    case.replies(extend(case.keys, J1, Token(1), lease_ms=HOUR), -1)


def test_a_lease_is_positive(case: Case) -> None:
    with pytest.raises(BadInput):
        extend(case.keys, J1, Token(1), lease_ms=0)


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).broken(J1))
    case.refuses_type(extend(case.keys, J1, Token(1), lease_ms=HOUR), match=str(J1))
