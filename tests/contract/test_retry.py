"""retry: protocol 4.7, rules 4, 5 and 9 of docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.ids import JobId
from echomq.records import Dead, Scheduled, Stale, Token
from echomq.resp.reply import ErrorReply
from echomq.transitions.call import Call
from echomq.transitions.checks import ATTEMPTS_MAX
from echomq.transitions.claim import claim
from echomq.transitions.enqueue import enqueue
from echomq.transitions.reap import reap
from echomq.transitions.retry import retry
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, GRANDPARENT, J1, J2, J3, PARENT, RED
from tests.harness.state import HOUR, Seed


def failing(
    case: Case, job: JobId = J1, token: int = 1, *, cap: int = 3, error: str = "boom"
) -> Call[Scheduled | Dead | Stale]:
    return retry(case.keys, job, Token(token), delay_ms=2 * HOUR, max_attempts=cap, error=error)


def stored_error(case: Case, job: JobId) -> bytes:
    row = case.body.dump()[case.keys.job(job)].value
    assert isinstance(row, dict)
    error: bytes = row[b"last_error"]
    return error


def test_below_the_cap_the_job_waits_with_its_error(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=1, payload=b"kept", extra=b"kept").pending(J2)
    case.given(seed)
    case.step(failing(case, J1, 2), Scheduled(J1), seed.copy().scheduled(J1, due=2, last_error=b"boom"))


def test_at_the_cap_the_job_is_dead_with_its_error_and_its_instant(case: Case) -> None:
    case.given(case.seed().active(J1, 3, ends=1).failed(1))
    case.body.advance(4)
    after = case.seed().dead(J1, 3, last_error=b"boom", died_at=4).failed(2)
    case.step(failing(case, J1, 3), Dead(J1), after)


def test_attempts_above_the_cap_are_dead_too(case: Case) -> None:
    case.given(case.seed().active(J1, 10, ends=1))
    case.step(failing(case, J1, 10), Dead(J1), case.seed().dead(J1, 10, last_error=b"boom", died_at=0).failed(1))


def test_the_cap_is_compared_as_a_number(case: Case) -> None:
    seed = case.seed().active(J1, 9, ends=1)
    case.given(seed)
    case.step(failing(case, J1, 9, cap=10), Scheduled(J1), seed.copy().scheduled(J1, due=2, last_error=b"boom"))


def test_the_jobs_own_cap_wins_over_the_callers(case: Case) -> None:
    seed = case.seed().active(J1, 3, ends=1, max_attempts=5).active(J2, 3, ends=1, max_attempts=2)
    case.given(seed)
    seed.scheduled(J1, due=2, last_error=b"boom")
    case.step(failing(case, J1, 3, cap=3), Scheduled(J1), seed)
    seed.dead(J2, last_error=b"boom", died_at=0).failed(1)
    case.step(failing(case, J2, 3, cap=30), Dead(J2), seed)


def test_unspent_attempts_do_not_count_against_the_cap(case: Case) -> None:
    seed = case.seed().active(J1, 4, ends=1, unspent=2)
    case.given(seed)
    case.step(failing(case, J1, 4), Scheduled(J1), seed.copy().scheduled(J1, due=2, last_error=b"boom"))


def test_a_cap_of_zero_is_dead_at_once_whatever_the_job_says(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1, max_attempts=5))
    after = case.seed().dead(J1, 1, max_attempts=5, last_error=b"boom", died_at=0).failed(1)
    case.step(failing(case, J1, 1, cap=0), Dead(J1), after)


def test_a_late_retry_counts_while_nobody_has_claimed_again(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=-1))
    case.body.run(reap(case.keys))
    case.step(failing(case), Scheduled(J1), case.seed().scheduled(J1, 1, due=2, last_error=b"boom").wakes(1))


def test_a_missing_row_is_stale(case: Case) -> None:
    case.given(case.seed().member(case.keys.active, J1, 1))
    case.keeps(failing(case), Stale(J1))


def test_a_skeleton_is_stale_and_not_written_to(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), lock=b"1"))
    case.keeps(failing(case), Stale(J1))


def test_another_token_is_stale(case: Case) -> None:
    case.given(case.seed().active(J1, 2, ends=1))
    case.keeps(failing(case, J1, 1), Stale(J1))
    case.keeps(failing(case, J1, 3), Stale(J1))


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).active(J2, 3, ends=1))
    call = failing(case)
    base = case.keys.base
    case.errs(published_form(call, J1, 2, HOUR, 3, b"e", base), "EMQSTALE")
    case.errs(published_form(call, J1, b"01", HOUR, 3, b"e", base), "EMQSTALE")
    case.replies(published_form(call, J1, 1, HOUR, 3, b"e", base), b"scheduled")
    case.replies(published_form(failing(case, J2, 3), J2, 3, HOUR, 3, b"\xff\x00", base), b"dead")
    after = case.seed().scheduled(J1, 1, due=1, last_error=b"e")
    case.shows(after.dead(J2, 3, last_error=b"\xff\x00", died_at=0).failed(1))


def test_a_missing_row_says_job_gone_to_other_speakers(case: Case) -> None:
    case.replies(failing(case), ErrorReply("EMQSTALE job gone"))


def test_w10_a_repeated_last_retry_is_stale_and_counts_once(case: Case) -> None:
    case.given(case.seed().active(J1, 3, ends=1))
    dead = case.seed().dead(J1, 3, last_error=b"boom", died_at=0).failed(1)
    case.step(failing(case, J1, 3), Dead(J1), dead)
    case.keeps(failing(case, J1, 3), Stale(J1))
    case.keeps(failing(case, J1, 3, cap=30), Stale(J1))


def test_w10_a_repeated_retry_is_stale_and_does_not_move_the_due_time(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    case.body.run(failing(case))
    case.body.advance(1)
    case.keeps(failing(case), Stale(J1))


def test_w09_token_zero_is_nobodys(case: Case) -> None:
    case.given(case.seed().pending(J1, 0))
    case.errs(published_form(failing(case), J1, 0, HOUR, 3, b"e", case.keys.base), "EMQSTALE")


def test_a_grouped_retry_frees_the_groups_slot(case: Case) -> None:
    red = RED.encode()
    seed = (
        case.seed()
        .active(J1, 1, ends=1, group=red)
        .pending(J2, group=red)
        .in_flight(RED, 1)
        .limit(RED, 1)
        .pending(J3, group=BLUE.encode())
    )
    case.given(seed)
    after = seed.copy().scheduled(J1, due=2, last_error=b"boom").in_flight(RED, None).ring(BLUE, RED).wakes(1)
    case.step(failing(case), Scheduled(J1), after)


def test_a_late_grouped_retry_leaves_its_lane(case: Case) -> None:
    seed = case.seed().pending(J1, 1, group=RED.encode())
    case.given(seed)
    case.step(failing(case), Scheduled(J1), seed.copy().scheduled(J1, due=2, last_error=b"boom"))


def test_the_error_is_cut_to_16_kib_and_made_valid(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1).active(J2, 1, ends=1)
    case.given(seed)
    assert case.body.run(failing(case, error="é" * 20_000)) == Scheduled(J1)
    stored = stored_error(case, J1)
    assert 16_000 < len(stored) <= 16 * 1024
    assert set(stored.decode()) == {"é"}
    assert case.body.run(failing(case, J2, error="a\ud800b")) == Scheduled(J2)
    assert stored_error(case, J2).startswith(b"a")


@pytest.mark.parametrize(("delay_ms", "max_attempts"), [(-1, 1), (1, -1)])
def test_what_is_out_of_range_is_refused_before_the_wire(case: Case, delay_ms: int, max_attempts: int) -> None:
    with pytest.raises(BadInput):
        retry(case.keys, J1, Token(1), delay_ms=delay_ms, max_attempts=max_attempts, error="")


# --- flow children of another speaker ---------------------------------------------------------------------------------


def held(case: Case, left: int, **fields: bytes) -> Seed:
    row = case.keys.job(PARENT)
    return case.seed().row(PARENT, state=b"awaiting_children", **fields).string(row + b":dependencies", b"%d" % left)


def test_the_death_of_a_child_fails_its_parent(case: Case) -> None:
    seed = held(case, 2).active(J1, 3, ends=1, parent=PARENT)
    case.given(seed)
    case.body.run(failing(case, J1, 3))
    shown = case.body.dump()
    assert shown[case.keys.dead].value == {J1: 0, PARENT: 0}
    assert shown[case.keys.job(PARENT) + b":failed"].value == {J1: b"boom"}
    assert shown[case.keys.job(PARENT)].value[b"state"] == b"dead"  # type: ignore[index,call-overload]  # a hash


@pytest.mark.parametrize("late", [False, True])
def test_an_ignored_death_satisfies_the_parent_and_the_last_one_releases_it(case: Case, *, late: bool) -> None:
    seed = held(case, 1)
    fields = {"parent": bytes(PARENT), "parent_policy": b"id"}
    seed = seed.pending(J1, 3, **fields) if late else seed.active(J1, 3, ends=1, **fields)
    case.given(seed)
    row = case.keys.job(PARENT)
    after = seed.copy().dead(J1, last_error=b"boom", died_at=0).failed(1).pending(PARENT).wakes(1)
    after.string(row + b":dependencies", b"0").fields(row + b":unsuccessful", **{J1.decode(): b"boom"})
    case.step(failing(case, J1, 3), Dead(J1), after)


def test_w10_an_ignored_death_counts_once(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = held(case, 2).fields(row + b":unsuccessful", **{J1.decode(): b"before"})
    seed.active(J1, 3, ends=1, parent=PARENT, parent_policy=b"id")
    case.given(seed)
    after = seed.copy().dead(J1, last_error=b"boom", died_at=0).failed(1)
    case.step(failing(case, J1, 3), Dead(J1), after)


@pytest.mark.parametrize(("policy", "sent"), [(b"fp", b"fp"), (b"id", b"id"), (b"?", b"fp"), (None, b"fp")])
def test_a_parent_elsewhere_gets_a_failure_entry(case: Case, policy: bytes | None, sent: bytes) -> None:
    fields = {"parent": bytes(PARENT), "parent_queue": b"other"}
    if policy is not None:
        fields["parent_policy"] = policy
    seed = case.seed().active(J1, 3, ends=1, **fields)
    case.given(seed)
    entry = b"\0".join([b"", b"fail", b"other", PARENT, J1, sent, b"boom"])
    after = seed.copy().dead(J1, last_error=b"boom", died_at=0).failed(1).lines(case.keys.flow_outbox, entry)
    case.step(failing(case, J1, 3), Dead(J1), after)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_w15_a_killed_parent_passes_its_failure_on_in_the_same_step(case: Case, *, elsewhere: bool) -> None:
    up = {"parent": bytes(GRANDPARENT), "parent_policy": b"id"}
    if elsewhere:
        up["parent_queue"] = b"other"
    case.given(held(case, 2, **up).active(J1, 3, ends=1, parent=PARENT))
    case.body.run(failing(case, J1, 3))
    queue = b"other" if elsewhere else case.keys.queue.encode()
    entry = b"\0".join([b"", b"fail", queue, GRANDPARENT, PARENT, b"id", b"boom"])
    assert case.body.dump()[case.keys.flow_outbox].value == (entry,)


def test_w15_a_parent_that_was_dead_already_passes_nothing_on(case: Case) -> None:
    seed = case.seed().dead(PARENT, parent=GRANDPARENT).active(J1, 3, ends=1, parent=PARENT)
    case.given(seed)
    case.body.run(failing(case, J1, 3))
    assert case.keys.flow_outbox not in case.body.dump()


def test_w15_an_ignored_death_is_not_passed_on(case: Case) -> None:
    case.given(held(case, 1, parent=bytes(GRANDPARENT)).active(J1, 3, ends=1, parent=PARENT, parent_policy=b"id"))
    case.body.run(failing(case, J1, 3))
    assert case.keys.flow_outbox not in case.body.dump()


@pytest.mark.parametrize("policy", [b"fp", b"id"])
def test_w22_a_vanished_parent_is_not_resurrected(case: Case, policy: bytes) -> None:
    seed = case.seed().active(J1, 3, ends=1, parent=PARENT, parent_policy=policy)
    case.given(seed)
    case.step(failing(case, J1, 3), Dead(J1), seed.copy().dead(J1, last_error=b"boom", died_at=0).failed(1))


def test_a_retry_below_the_cap_tells_no_parent(case: Case) -> None:
    seed = held(case, 2).active(J1, 1, ends=1, parent=PARENT)
    case.given(seed)
    case.step(failing(case), Scheduled(J1), seed.copy().scheduled(J1, due=2, last_error=b"boom"))


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).broken(J1))
    case.refuses_type(failing(case), match=str(J1))


def test_the_largest_cap_that_is_admitted_is_one_that_retry_can_count(case: Case) -> None:
    case.body.ask(enqueue(case.keys, J1, b"p", max_attempts=ATTEMPTS_MAX))
    case.body.ask(claim(case.keys, lease_ms=HOUR))
    answer = case.body.ask(retry(case.keys, J1, Token(1), delay_ms=HOUR, max_attempts=1, error="e"))
    assert answer == Scheduled(J1)
    with pytest.raises(BadInput):
        enqueue(case.keys, J1, b"p", max_attempts=ATTEMPTS_MAX + 1)
