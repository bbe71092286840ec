"""release: docs/wire.md, settling."""

from echomq.records import Gone, Released, Stale, Token
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, RED


def test_the_job_is_ready_again_and_its_attempt_is_not_spent(case: Case) -> None:
    seed = case.seed().active(J1, 2, ends=1, unspent=1, last_error=b"kept")
    case.given(seed)
    case.step(release(case.keys, J1, Token(2)), Released(J1), seed.copy().pending(J1, unspent=2).wakes(1))


def test_the_attempts_never_go_down(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed)
    case.step(release(case.keys, J1, Token(1)), Released(J1), seed.copy().pending(J1, 1, unspent=1).wakes(1))


def test_only_a_leased_job_can_be_given_back(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=-1).scheduled(J2, 1, due=1))
    case.body.run(reap(case.keys))
    case.keeps(release(case.keys, J1, Token(1)), Stale(J1))
    case.keeps(release(case.keys, J2, Token(1)), Stale(J2))


def test_a_repeated_release_is_stale_and_counts_once(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    case.body.run(release(case.keys, J1, Token(1)))
    case.keeps(release(case.keys, J1, Token(1)), Stale(J1))


def test_another_token_is_stale(case: Case) -> None:
    case.given(case.seed().active(J1, 2, ends=1))
    case.keeps(release(case.keys, J1, Token(1)), Stale(J1))


def test_no_row_and_a_skeleton_are_gone(case: Case) -> None:
    case.given(case.seed().member(case.keys.active, J1, 1).fields(case.keys.job(J2), lock=b"1"))
    case.keeps(release(case.keys, J1, Token(1)), Gone(J1))
    case.keeps(release(case.keys, J2, Token(1)), Gone(J2))


def test_the_raw_replies(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    case.replies(release(case.keys, J1, Token(1)), [b"released"])
    case.replies(release(case.keys, J1, Token(1)), [b"stale"])
    case.replies(release(case.keys, J2, Token(1)), [b"gone"])


def test_w08_a_grouped_job_goes_back_to_its_own_lane(case: Case) -> None:
    red = RED.encode()
    seed = case.seed().active(J1, 1, ends=1, group=red).in_flight(RED, 1).limit(RED, 1).pending(J2, group=BLUE.encode())
    case.given(seed)
    after = seed.copy().pending(J1, unspent=1).in_flight(RED, None).wakes(1)
    case.step(release(case.keys, J1, Token(1)), Released(J1), after)


def test_w08_a_parked_group_keeps_the_job_in_its_lane_off_the_ring(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1, group=RED.encode()).in_flight(RED, 2).parked(RED)
    case.given(seed)
    case.step(release(case.keys, J1, Token(1)), Released(J1), seed.copy().pending(J1, unspent=1).in_flight(RED, 1))


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).broken(J1))
    case.refuses_type(release(case.keys, J1, Token(1)), match=str(J1))
