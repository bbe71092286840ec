"""complete: protocol 4.6, rule 4 and rule 9 of docs/wire.md."""

import pytest

from echomq.records import Completed, Gone, Stale, Token
from echomq.transitions.complete import complete
from echomq.transitions.reap import reap
from tests.harness.case import Case, published_form
from tests.harness.jobs import BLUE, J1, J2, J3, PARENT, RED
from tests.harness.state import HOUR


def test_nothing_of_the_job_is_left_and_the_completion_counts(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).pending(J2).completed(4))
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), case.seed().pending(J2).completed(5))


def test_w39_the_subkeys_go_with_the_row(case: Case) -> None:
    row = case.keys.job(J1)
    seed = case.seed().active(J1, 1, ends=1).lines(row + b":logs", b"a").string(row + b":lock", b"1", ttl=2)
    seed.string(row + b":dependencies", b"0").fields(row + b":processed", x=b"1").fields(row + b":failed", x=b"1")
    seed.fields(row + b":unsuccessful", x=b"1")
    case.given(seed)
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), case.seed().completed(1))


def test_a_result_is_kept_for_its_time_and_then_vanishes(case: Case) -> None:
    case.given(case.seed().active(J1, 3, ends=1))
    after = case.seed().completed(1)
    result = case.keys.job_result(J1)
    kept = after.copy().fields(result, result=b"\x00\xff", attempts=3, completed_at=0)
    kept.ttls[result] = 2
    case.step(complete(case.keys, J1, Token(3), result=b"\x00\xff", result_ttl_ms=2 * HOUR), Completed(J1), kept)
    case.body.advance(2)
    case.shows(after)


def test_a_result_without_a_time_is_not_kept(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    case.step(complete(case.keys, J1, Token(1), result=b"r"), Completed(J1), case.seed().completed(1))


def test_no_row_is_gone(case: Case) -> None:
    case.given(case.seed().member(case.keys.active, J1, 1))
    case.keeps(complete(case.keys, J1, Token(1)), Gone(J1))


def test_a_skeleton_is_gone(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), state=b"active", lock=b"1"))
    case.keeps(complete(case.keys, J1, Token(1)), Gone(J1))


@pytest.mark.parametrize("token", [1, 3, 22])
def test_another_token_is_stale(case: Case, token: int) -> None:
    case.given(case.seed().active(J1, 2, ends=1))
    case.keeps(complete(case.keys, J1, Token(token)), Stale(J1))


@pytest.mark.parametrize("text", [b"02", b"2 ", b"+2", b"2.0", b" 2", b"2e0", b"0x2", b""])
def test_tokens_are_compared_byte_for_byte(case: Case, text: bytes) -> None:
    case.given(case.seed().active(J1, 2, ends=1))
    case.errs(published_form(complete(case.keys, J1, Token(2)), J1, text, case.keys.base), "EMQSTALE")


@pytest.mark.parametrize("place", ["pending", "active"])
def test_w09_token_zero_is_nobodys(case: Case, place: str) -> None:
    seed = case.seed().pending(J1, 0) if place == "pending" else case.seed().active(J1, 0, ends=1)
    case.given(seed)
    case.errs(published_form(complete(case.keys, J1, Token(1)), J1, 0, case.keys.base), "EMQSTALE")


def test_w09_a_scheduled_or_dead_job_has_no_holder(case: Case) -> None:
    case.given(case.seed().scheduled(J1, 1, due=1).dead(J2, 1).pending(J3))
    case.keeps(complete(case.keys, J1, Token(1)), Stale(J1))
    case.keeps(complete(case.keys, J2, Token(1)), Stale(J2))


def test_w09_a_held_parent_has_no_holder(case: Case) -> None:
    case.given(case.seed().row(J1, state=b"awaiting_children", attempts=1))
    case.keeps(complete(case.keys, J1, Token(1)), Stale(J1))


def test_a_late_completion_counts_while_nobody_has_claimed_again(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=-1).pending(J2))
    case.body.run(reap(case.keys))
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), case.seed().pending(J2).completed(1).wakes(1))


def test_an_overdue_lease_that_nobody_took_is_still_the_holders(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=-1))
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), case.seed().completed(1))


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    call = published_form(complete(case.keys, J1, Token(1)), J1, 1, case.keys.base)
    case.replies(call, 1)
    case.replies(call, 0)
    case.shows(case.seed().completed(1))


def test_a_grouped_completion_frees_the_groups_slot_and_enters_the_ring(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1, group=RED.encode()).pending(J2, group=RED.encode())
    seed.in_flight(RED, 2).limit(RED, 2).pending(J3, group=BLUE.encode())
    case.given(seed)
    after = seed.copy().forget(J1).in_flight(RED, 1).ring(BLUE, RED).wakes(1).completed(1)
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), after)


def test_the_last_in_flight_of_a_group_removes_its_count(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1, group=RED.encode()).in_flight(RED, 1).in_flight(BLUE, 1)
    case.given(seed)
    case.step(
        complete(case.keys, J1, Token(1)), Completed(J1), seed.copy().forget(J1).in_flight(RED, None).completed(1)
    )


@pytest.mark.parametrize("hindrance", ["parked", "limit", "on the ring", "empty lane"])
def test_the_ring_entry_rule_holds_back(case: Case, hindrance: str) -> None:
    seed = case.seed().active(J1, 1, ends=1, group=RED.encode()).in_flight(RED, 3)
    if hindrance != "empty lane":
        seed.pending(J2, group=RED.encode())
    match hindrance:
        case "parked":
            seed.parked(RED)
        case "limit":
            seed.limit(RED, 2)
        case "on the ring":
            seed.ring(RED)
    case.given(seed)
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), seed.copy().forget(J1).in_flight(RED, 2).completed(1))


def test_wake_tokens_are_at_most_64(case: Case) -> None:
    seed = (
        case.seed()
        .active(J1, 1, ends=1, group=RED.encode())
        .pending(J2, group=RED.encode())
        .in_flight(RED, 1)
        .limit(RED, 1)
        .wakes(*[1] * 64)
    )
    case.given(seed)
    after = seed.copy().forget(J1).in_flight(RED, None).completed(1)
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), after)


def test_a_late_grouped_completion_leaves_its_lane_and_an_empty_lane_leaves_the_ring(case: Case) -> None:
    seed = case.seed().pending(J1, 1, group=RED.encode()).pending(J2, group=BLUE.encode()).in_flight(RED, 1)
    case.given(seed)
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), seed.copy().forget(J1).completed(1))


# --- flow children of another speaker ---------------------------------------------------------------------------------


def test_a_child_tells_its_parent_and_the_last_one_releases_it(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"2")
    seed.active(J1, 1, ends=1, parent=PARENT).active(J2, 1, ends=1, parent=PARENT)
    case.given(seed)
    once = seed.copy().forget(J1).string(row + b":dependencies", b"1").completed(1)
    once.fields(row + b":processed", **{J1.decode(): b"r1"})
    case.step(complete(case.keys, J1, Token(1), result=b"r1"), Completed(J1), once)
    twice = once.copy().forget(J2).string(row + b":dependencies", b"0").completed(2).pending(PARENT).wakes(1)
    twice.fields(row + b":processed", **{J2.decode(): bytes(J2)})
    case.step(complete(case.keys, J2, Token(1)), Completed(J2), twice)


def test_w13_the_parent_is_read_in_the_script(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"1")
    seed.active(J1, 1, ends=1, parent=PARENT)
    case.given(seed)
    after = seed.copy().forget(J1).string(row + b":dependencies", b"0").completed(1).pending(PARENT).wakes(1)
    after.fields(row + b":processed", **{J1.decode(): bytes(J1)})
    case.replies(published_form(complete(case.keys, J1, Token(1)), J1, 1, case.keys.base), 1)
    case.shows(after)


def test_w03_a_child_that_completes_after_its_lapse_still_counts(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"1")
    seed.pending(J1, 1, parent=PARENT)
    case.given(seed)
    after = seed.copy().forget(J1).string(row + b":dependencies", b"0").completed(1).pending(PARENT).wakes(1)
    after.fields(row + b":processed", **{J1.decode(): b"r"})
    case.step(complete(case.keys, J1, Token(1), result=b"r"), Completed(J1), after)


def test_w03_a_child_counts_once(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"1")
    seed.active(J1, 2, ends=1, parent=PARENT).fields(row + b":processed", **{J1.decode(): b"first"})
    case.given(seed)
    case.step(complete(case.keys, J1, Token(2), result=b"r"), Completed(J1), seed.copy().forget(J1).completed(1))


def test_w03_a_child_whose_death_was_ignored_is_not_counted_again(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"1")
    seed.active(J1, 4, ends=1, parent=PARENT, parent_policy=b"id")
    seed.fields(row + b":unsuccessful", **{J1.decode(): b"boom"})
    case.given(seed)
    after = seed.copy().forget(J1).completed(1).fields(row + b":processed", **{J1.decode(): b"r"})
    case.step(complete(case.keys, J1, Token(4), result=b"r"), Completed(J1), after)


@pytest.mark.parametrize("late", [False, True])
def test_w03_a_parent_elsewhere_gets_an_outbox_entry_also_after_a_lapse(case: Case, *, late: bool) -> None:
    seed = case.seed().lines(case.keys.flow_outbox, b"earlier")
    fields = {"parent": bytes(PARENT), "parent_queue": b"other"}
    seed = seed.pending(J1, 1, **fields) if late else seed.active(J1, 1, ends=1, **fields)
    case.given(seed)
    entry = b"\0".join([b"other", PARENT, J1, b"a\0b"])
    after = seed.copy().forget(J1).lines(case.keys.flow_outbox, b"earlier", entry).completed(1)
    case.step(complete(case.keys, J1, Token(1), result=b"a\0b"), Completed(J1), after)


def test_a_parent_queue_of_the_same_name_is_the_same_queue(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children").string(row + b":dependencies", b"2")
    seed.active(J1, 1, ends=1, parent=PARENT, parent_queue=case.keys.queue.encode())
    case.given(seed)
    after = seed.copy().forget(J1).string(row + b":dependencies", b"1").completed(1)
    after.fields(row + b":processed", **{J1.decode(): bytes(J1)})
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), after)


def test_w22_a_vanished_parent_is_not_resurrected(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1, parent=PARENT))
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), case.seed().completed(1))


def test_w22_a_dead_parent_is_not_made_ready(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().dead(PARENT).string(row + b":dependencies", b"1").active(J1, 1, ends=1, parent=PARENT)
    case.given(seed)
    assert case.body.run(complete(case.keys, J1, Token(1))) == Completed(J1)
    assert case.body.dump()[case.keys.dead].value == {PARENT: 0}
    assert case.keys.pending not in case.body.dump()


def test_w08_a_released_parent_goes_back_to_its_own_lane(case: Case) -> None:
    row = case.keys.job(PARENT)
    seed = case.seed().row(PARENT, state=b"awaiting_children", group=RED.encode()).string(row + b":dependencies", b"1")
    seed.active(J1, 1, ends=1, parent=PARENT)
    case.given(seed)
    after = seed.copy().forget(J1).string(row + b":dependencies", b"0").completed(1).pending(PARENT).wakes(1)
    after.fields(row + b":processed", **{J1.decode(): bytes(J1)})
    case.step(complete(case.keys, J1, Token(1)), Completed(J1), after)


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).broken(J1))
    case.refuses_type(complete(case.keys, J1, Token(1)), match=str(J1))
