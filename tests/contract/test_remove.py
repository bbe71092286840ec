"""remove: protocol 4.14, rule 8 of docs/wire.md."""

import pytest

from echomq.errors import BadInput
from echomq.records import Gone, Locked, Removed
from echomq.resp.reply import ErrorReply
from echomq.transitions.enqueue import enqueue
from echomq.transitions.remove import remove
from tests.features import needs
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, RED
from tests.harness.state import Seed


def placed(seed: Seed, place: str) -> Seed:
    match place:
        case "active":
            return seed.active(J1, 1, ends=1)
        case "scheduled":
            return seed.scheduled(J1, due=1)
        case "pending":
            return seed.pending(J1)
        case "dead":
            return seed.dead(J1)
    return seed.row(J1, state=b"awaiting_children")


@pytest.mark.parametrize("place", ["pending", "active", "scheduled", "dead", "held"])
def test_w39_nothing_of_the_job_is_left_wherever_it_was(case: Case, place: str) -> None:
    row = case.keys.job(J1)
    seed = placed(case.seed().pending(J2), place).lines(row + b":logs", b"a").string(row + b":dependencies", b"2")
    seed.fields(row + b":processed", x=b"1").fields(row + b":failed", x=b"1").fields(row + b":unsuccessful", x=b"1")
    seed.fields(row + b":result", result=b"r", attempts=1, completed_at=0)
    seed.ttls[row + b":result"] = 3
    case.given(seed)
    case.step(remove(case.keys, J1), Removed(J1), case.seed().pending(J2))


def test_no_row_is_gone(case: Case) -> None:
    case.given(case.seed().pending(J2))
    case.keeps(remove(case.keys, J1), Gone(J1))
    case.replies(remove(case.keys, J1), -1)


def test_a_kept_result_alone_can_be_removed(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job_result(J1), result=b"r", attempts=1, completed_at=0))
    case.step(remove(case.keys, J1), Removed(J1), case.seed())
    case.keeps(remove(case.keys, J1), Gone(J1))


def test_the_dedup_key_goes_only_when_it_names_the_job(case: Case) -> None:
    mine, other = case.keys.dedup("mine"), case.keys.dedup("other")
    seed = case.seed().pending(J1).string(mine, J1).string(other, J2)
    case.given(seed)
    after = case.seed().string(other, J2)
    case.step(remove(case.keys, J1, dedup_id="mine"), Removed(J1), after)
    case.body.load(seed.state())
    after.string(mine, J1)
    case.step(remove(case.keys, J1, dedup_id="other"), Removed(J1), after)


def test_case_55_add_unique_then_remove_then_add(case: Case) -> None:
    dedup = case.keys.dedup("nightly")
    case.given(case.seed().pending(J1).string(dedup, J1, ttl=1))
    assert case.body.run(remove(case.keys, J1, dedup_id="nightly")) == Removed(J1)
    case.shows(case.seed())
    assert case.body.run(enqueue(case.keys, J1, b"x")).job == J1
    case.shows(case.seed().pending(J1, payload=b"x").wakes(1))


def test_a_held_marker_refuses_untouched(case: Case) -> None:
    seed = (
        case.seed().active(J1, 1, ends=-1).string(case.keys.job_lock(J1), b"1", ttl=1).string(case.keys.dedup("d"), J1)
    )
    case.given(seed)
    case.keeps(remove(case.keys, J1, dedup_id="d"), Locked(J1))
    reply = case.body.reply(remove(case.keys, J1))
    assert isinstance(reply, ErrorReply)
    assert reply.word == "EMQLOCK"
    case.body.advance(1)
    case.step(remove(case.keys, J1, dedup_id="d"), Removed(J1), case.seed())


@needs("field_ttl")
def test_w36_a_lock_field_with_a_ttl_refuses_until_it_vanishes(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=-1, lock=b"1")
    seed.field_ttls[case.keys.job(J1)] = {b"lock": 2}
    case.given(seed)
    case.keeps(remove(case.keys, J1), Locked(J1))
    case.body.advance(2)
    case.step(remove(case.keys, J1), Removed(J1), case.seed())


def test_w36_a_lock_field_without_a_ttl_counts_only_under_a_live_lease(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1, lock=b"1"))
    case.keeps(remove(case.keys, J1), Locked(J1))
    case.body.advance(1)
    case.step(remove(case.keys, J1), Removed(J1), case.seed())
    case.given(case.seed().pending(J1, 1, lock=b"1"))
    case.step(remove(case.keys, J1), Removed(J1), case.seed())


def test_w07_a_grouped_job_leaves_its_lane_and_an_empty_lane_leaves_the_ring(case: Case) -> None:
    red = RED.encode()
    seed = case.seed().pending(J1, group=red).pending(J2, group=red).pending(J3, group=BLUE.encode())
    case.given(seed)
    seed.forget(J1)
    case.step(remove(case.keys, J1), Removed(J1), seed)
    case.step(remove(case.keys, J2), Removed(J2), case.seed().pending(J3, group=BLUE.encode()))


def test_w07_a_leased_grouped_job_frees_its_slot(case: Case) -> None:
    red = RED.encode()
    seed = case.seed().active(J1, 1, ends=1, group=red).pending(J2, group=red).in_flight(RED, 1).limit(RED, 1)
    case.given(seed)
    after = seed.copy().forget(J1).in_flight(RED, None).wakes(1)
    case.step(remove(case.keys, J1), Removed(J1), after)


@pytest.mark.parametrize("place", ["scheduled", "dead"])
def test_w07_a_grouped_job_that_waits_elsewhere_touches_no_lane(case: Case, place: str) -> None:
    seed = case.seed().pending(J2, group=RED.encode()).in_flight(RED, 3)
    case.given(placed(seed.copy(), place).row(J1, group=RED.encode()))
    case.step(remove(case.keys, J1), Removed(J1), seed)


@pytest.mark.parametrize("place", ["pending", "active", "scheduled", "dead"])
def test_a_broken_row_is_cleared_away(case: Case, place: str) -> None:
    case.given(placed(case.seed(), place).broken(J1).pending(J2))
    case.step(remove(case.keys, J1), Removed(J1), case.seed().pending(J2))


def test_a_skeleton_is_cleared_away_or_gone_but_never_written_to(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J1), parent_policy=b"fp"))
    answer = case.body.run(remove(case.keys, J1))
    assert isinstance(answer, Removed | Gone)
    left = case.body.dump().get(case.keys.job(J1))
    assert left is None or left.value == {b"parent_policy": b"fp"}


@pytest.mark.parametrize("dedup_id", ["", "a:b", "é", "x" * 256])
def test_a_dedup_id_outside_its_charset_is_refused_before_the_wire(case: Case, dedup_id: str) -> None:
    with pytest.raises(BadInput):
        remove(case.keys, J1, dedup_id=dedup_id)
