"""claim and is_paused: protocol 4.4, three keys; docs/wire.md, claiming."""

import pytest

from echomq.errors import BadInput
from echomq.records import Claimed, Empty, Token
from echomq.transitions.claim import claim
from echomq.transitions.is_paused import is_paused
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2, J3, RED
from tests.harness.state import HOUR, job_number

red = RED.encode()


def test_the_oldest_mint_is_leased_with_the_next_token(case: Case) -> None:
    seed = case.seed().pending(J2, 4, payload=b"\x00\xff", max_attempts=9, extra=b"kept").pending(J3)
    case.given(seed)
    case.step(claim(case.keys, lease_ms=2 * HOUR), Claimed(J2, b"\x00\xff", Token(5)), seed.active(J2, 5, ends=2))


def test_nothing_ready_is_empty(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=-1).active(J2, 1, ends=-1).dead(J3))
    case.keeps(claim(case.keys, lease_ms=HOUR), Empty())


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().pending(J1, payload=b"x"))
    call = published_form(claim(case.keys, lease_ms=HOUR), HOUR)
    case.replies(call, [J1, b"x", 1])
    case.replies(call, [])
    case.shows(case.seed().active(J1, 1, payload=b"x", ends=1))


def test_a_lost_payload_is_none(case: Case) -> None:
    seed = case.seed().pending(J1).without(case.keys.job(J1), b"payload")
    case.given(seed)
    case.step(
        claim(case.keys, lease_ms=HOUR),
        Claimed(J1, None, Token(1)),
        seed.active(J1, 1, ends=1).without(case.keys.job(J1), b"payload"),
    )


def test_w26_a_ghost_is_passed_over_and_the_job_behind_it_is_served(case: Case) -> None:
    seed = case.seed().pending(J3)
    case.given(seed.copy().member(case.keys.pending, J1, 0).member(case.keys.pending, J2, 0))
    case.step(claim(case.keys, lease_ms=HOUR), Claimed(J3, b"p", Token(1)), seed.active(J3, 1, ends=1))


def test_w04_ghosts_alone_are_dropped_and_nothing_is_minted(case: Case) -> None:
    case.given(case.seed().member(case.keys.pending, J1, 0))
    case.step(claim(case.keys, lease_ms=HOUR), Empty(), case.seed())


def test_w04_a_skeleton_is_passed_over_and_not_written_to(case: Case) -> None:
    skeleton = case.seed().fields(case.keys.job(J1), state=b"pending", stalled=1)
    case.given(skeleton.copy().member(case.keys.pending, J1, 0).pending(J2))
    case.step(claim(case.keys, lease_ms=HOUR), Claimed(J2, b"p", Token(1)), skeleton.active(J2, 1, ends=1))


def test_w02_a_broken_row_consumes_nothing(case: Case) -> None:
    case.given(case.seed().pending(J1).broken(J1).pending(J2))
    case.refuses_type(claim(case.keys, lease_ms=HOUR), match=f"WRONGTYPE the row of {J1} is not a hash")


def test_w02_a_wrong_active_key_consumes_nothing(case: Case) -> None:
    case.given(case.seed().pending(J1).string(case.keys.active, b"x"))
    case.refuses_type(claim(case.keys, lease_ms=HOUR))


def test_w44_a_thousand_ghosts_are_one_window(case: Case) -> None:
    seed = case.seed().pending(job_number(2000))
    ghosts = seed.copy()
    for number in range(1, 1002):
        ghosts.member(case.keys.pending, job_number(number), 0)
    case.given(ghosts)
    one_left = seed.copy().member(case.keys.pending, job_number(1001), 0)
    case.step(claim(case.keys, lease_ms=HOUR), Empty(), one_left)
    served = Claimed(job_number(2000), b"p", Token(1))
    case.step(claim(case.keys, lease_ms=HOUR), served, seed.active(job_number(2000), 1, ends=1))


def test_the_pause_gate_is_a_beat_of_its_own(case: Case) -> None:
    case.given(case.seed().paused().pending(J1))
    case.keeps(is_paused(case.keys), True)
    assert case.body.run(claim(case.keys, lease_ms=HOUR)) == Claimed(J1, b"p", Token(1))
    case.given(case.seed().fields(case.keys.meta, concurrency=3))
    case.keeps(is_paused(case.keys), False)
    case.given(case.seed())
    case.keeps(is_paused(case.keys), False)


def test_any_value_of_paused_counts(case: Case) -> None:
    case.given(case.seed().fields(case.keys.meta, paused=b""))
    case.keeps(is_paused(case.keys), True)


@pytest.mark.parametrize("lease_ms", [0, -1, 8 * 24 * HOUR, True, 1.5])
def test_a_lease_is_positive_and_at_most_a_week(case: Case, lease_ms: int) -> None:
    with pytest.raises(BadInput):
        claim(case.keys, lease_ms=lease_ms)


# --- grouped jobs that another speaker put into the flat set ----------------------------------------------------------


def test_w08_a_grouped_job_goes_home_to_its_lane_and_the_next_is_claimed(case: Case) -> None:
    seed = case.seed().row(J1, state=b"pending", group=red).pending(J2)
    case.given(seed.copy().member(case.keys.pending, J1, 0))
    after = seed.copy().pending(J1).active(J2, 1, ends=1).wakes(1)
    case.step(claim(case.keys, lease_ms=HOUR), Claimed(J2, b"p", Token(1)), after)


def test_w08_grouped_jobs_alone_go_home_and_nothing_is_claimed(case: Case) -> None:
    seed = case.seed().row(J1, state=b"pending", group=red).row(J2, state=b"pending", group=red).limit(RED, 1)
    case.given(seed.copy().member(case.keys.pending, J1, 0).member(case.keys.pending, J2, 0))
    case.step(claim(case.keys, lease_ms=HOUR), Empty(), seed.copy().pending(J1).pending(J2).wakes(1))


def test_w08_a_full_lane_takes_its_job_and_stays_off_the_ring(case: Case) -> None:
    seed = case.seed().row(J1, state=b"pending", group=red).limit(RED, 1).in_flight(RED, 1)
    case.given(seed.copy().member(case.keys.pending, J1, 0))
    case.step(claim(case.keys, lease_ms=HOUR), Empty(), seed.copy().pending(J1))


def test_rule_3_a_grouped_job_whose_lane_is_damaged_is_told_and_nothing_is_consumed(case: Case) -> None:
    seed = case.seed().row(J1, state=b"pending", group=red).pending(J2).string(case.keys.lane(RED), b"x")
    case.given(seed.member(case.keys.pending, J1, 0))
    case.refuses_type(claim(case.keys, lease_ms=HOUR), match=RED)
