"""complete_many: docs/wire.md, settling."""

from dataclasses import replace

import pytest

from echomq.errors import BadInput
from echomq.records import Broken, Completed, Completion, Gone, Stale, Token
from echomq.transitions.complete_many import complete_many
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4, J5, J6, PARENT, RED
from tests.harness.state import HOUR, job_number


def test_each_member_is_settled_on_its_own(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1).active(J2, 2, ends=1).active(J4, 1, ends=1).broken(J4)
    seed.pending(J5, 3).scheduled(J6, 1, due=1)
    case.given(seed)
    items = [Completion(J1, Token(1)), Completion(J2, Token(1)), Completion(J3, Token(1)), Completion(J4, Token(1))]
    items += [Completion(J5, Token(3)), Completion(J6, Token(1))]
    answers = (Completed(J1), Stale(J2), Gone(J3), Broken(J4), Completed(J5), Stale(J6))
    case.step(complete_many(case.keys, items), answers, seed.copy().forget(J1).forget(J5).completed(2))


def test_results_are_kept_each_for_its_own_time(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).active(J2, 2, ends=1).active(J3, 1, ends=1))
    items = [
        Completion(J1, Token(1), result=b"one", result_ttl_ms=HOUR),
        Completion(J2, Token(2), result=b"two", result_ttl_ms=3 * HOUR),
        Completion(J3, Token(1), result=b"three"),
    ]
    after = case.seed().completed(3)
    for job, result, attempts, ttl in ((J1, b"one", 1, 1), (J2, b"two", 2, 3)):
        key = case.keys.job_result(job)
        after.fields(key, result=result, attempts=attempts, completed_at=0)
        after.ttls[key] = ttl
    case.step(complete_many(case.keys, items), (Completed(J1), Completed(J2), Completed(J3)), after)


def test_a_job_given_twice_is_gone_the_second_time(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    items = [Completion(J1, Token(1)), Completion(J1, Token(1))]
    case.step(complete_many(case.keys, items), (Completed(J1), Gone(J1)), case.seed().completed(1))


def test_the_raw_replies_are_words(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).active(J2, 2, ends=1).broken(J4))
    items = [Completion(J1, Token(1)), Completion(J2, Token(1)), Completion(J3, Token(1)), Completion(J4, Token(1))]
    case.replies(complete_many(case.keys, items), [b"completed", b"stale", b"gone", b"broken"])


def test_w39_the_subkeys_go_with_each_row(case: Case) -> None:
    row = case.keys.job(J1)
    seed = case.seed().active(J1, 1, ends=1).lines(row + b":logs", b"a").string(row + b":lock", b"1", ttl=1)
    case.given(seed)
    case.step(complete_many(case.keys, [Completion(J1, Token(1))]), (Completed(J1),), case.seed().completed(1))


def test_w09_token_zero_is_nobodys(case: Case) -> None:
    case.given(case.seed().pending(J1, 0))
    call = complete_many(case.keys, [Completion(J1, Token(1))])
    case.replies(replace(call, args=[b"0" if arg in (1, b"1") else arg for arg in call.args]), [b"stale"])
    case.shows(case.seed().pending(J1, 0))


def test_groups_of_one_batch_are_counted_down_together(case: Case) -> None:
    red = RED.encode()
    seed = case.seed().active(J1, 1, ends=1, group=red).active(J2, 1, ends=1, group=red).pending(J3, group=red)
    seed.in_flight(RED, 2).limit(RED, 2)
    case.given(seed)
    after = seed.copy().forget(J1).forget(J2).in_flight(RED, None).wakes(1).completed(2)
    items = [Completion(J1, Token(1)), Completion(J2, Token(1))]
    case.step(complete_many(case.keys, items), (Completed(J1), Completed(J2)), after)


def test_w03_children_of_one_batch_release_their_parent_once(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"2")
    seed.active(J1, 1, ends=1, parent=PARENT).pending(J2, 1, parent=PARENT)
    case.given(seed)
    after = seed.copy().forget(J1).forget(J2).string(row + b":dependencies", b"0").completed(2).pending(PARENT).wakes(1)
    after.fields(row + b":processed", **{J1.decode(): b"r", J2.decode(): bytes(J2)})
    items = [Completion(J1, Token(1), result=b"r"), Completion(J2, Token(1))]
    case.step(complete_many(case.keys, items), (Completed(J1), Completed(J2)), after)


def test_w44_a_thousand_and_not_one_more(case: Case) -> None:
    seed = case.seed()
    jobs = [job_number(n) for n in range(1, 1001)]
    for job in jobs:
        seed.active(job, 1, ends=1)
    case.given(seed)
    items = [Completion(job, Token(1)) for job in jobs]
    case.step(complete_many(case.keys, items), tuple(Completed(job) for job in jobs), case.seed().completed(1000))
    with pytest.raises(BadInput):
        complete_many(case.keys, [*items, Completion(job_number(1001), Token(1))])
