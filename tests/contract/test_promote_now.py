"""promote_now: docs/wire.md, moving."""

from echomq.records import Gone, NotScheduled, Promoted
from echomq.transitions.promote_now import promote_now
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, J3, J4, RED


def test_a_scheduled_job_is_ready_at_once(case: Case) -> None:
    seed = case.seed().scheduled(J1, 2, due=9).scheduled(J2, due=9)
    case.given(seed)
    case.step(promote_now(case.keys, J1), Promoted(J1), seed.copy().pending(J1).wakes(1))


def test_a_grouped_job_goes_to_its_lane(case: Case) -> None:
    seed = case.seed().scheduled(J1, due=9, group=RED.encode())
    case.given(seed)
    case.step(promote_now(case.keys, J1), Promoted(J1), seed.copy().pending(J1).wakes(1))


def test_a_job_elsewhere_is_not_scheduled(case: Case) -> None:
    case.given(case.seed().pending(J1).active(J2, 1, ends=1).dead(J3))
    for job in (J1, J2, J3):
        case.keeps(promote_now(case.keys, job), NotScheduled(job))


def test_no_job_is_gone(case: Case) -> None:
    case.keeps(promote_now(case.keys, J1), Gone(J1))


def test_w04_a_ghost_or_skeleton_is_gone_and_not_written_to(case: Case) -> None:
    seed = case.seed().fields(case.keys.job(J2), lock=b"1")
    case.given(seed.copy().member(case.keys.schedule, J1, 9).member(case.keys.schedule, J2, 9))
    assert case.body.run(promote_now(case.keys, J1)) == Gone(J1)
    assert case.body.run(promote_now(case.keys, J2)) == Gone(J2)
    assert case.keys.job(J1) not in case.body.dump()
    assert case.body.dump()[case.keys.job(J2)].value == {b"lock": b"1"}


def test_the_raw_replies(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=9))
    case.replies(promote_now(case.keys, J1), [b"promoted"])
    case.replies(promote_now(case.keys, J1), [b"not_scheduled"])
    case.replies(promote_now(case.keys, J4), [b"gone"])


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().scheduled(J1, due=9).broken(J1))
    case.refuses_type(promote_now(case.keys, J1), match=str(J1))
