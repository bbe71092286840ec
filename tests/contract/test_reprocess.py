"""reprocess: protocol 4.15."""

from echomq.records import Gone, NotDead, Reprocessed
from echomq.resp.reply import ErrorReply
from echomq.transitions.reprocess import reprocess
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2, J3, RED


def test_a_dead_job_is_ready_again_without_its_error(case: Case) -> None:
    seed = case.seed().dead(J1, 3, last_error=b"boom", died_at=-2, stalled=1, extra=b"kept").failed(1)
    case.given(seed)
    after = seed.copy().pending(J1).without(case.keys.job(J1), b"last_error", b"died_at").wakes(1)
    case.step(reprocess(case.keys, J1), Reprocessed(J1), after)


def test_fresh_lets_the_cap_count_anew(case: Case) -> None:
    seed = case.seed().dead(J1, 3, last_error=b"boom", died_at=-2, stalled=1)
    case.given(seed)
    after = (
        seed.copy().pending(J1, unspent=3).without(case.keys.job(J1), b"last_error", b"died_at", b"stalled").wakes(1)
    )
    case.step(reprocess(case.keys, J1, fresh=True), Reprocessed(J1), after)


def test_others_are_refused_untouched(case: Case) -> None:
    case.given(case.seed().pending(J1).active(J2, 1, ends=1).scheduled(J3, due=1))
    for job in (J1, J2, J3):
        case.keeps(reprocess(case.keys, job), NotDead(job))


def test_no_job_is_gone(case: Case) -> None:
    case.keeps(reprocess(case.keys, J1), Gone(J1))


def test_published_arguments_and_replies(case: Case) -> None:
    case.given(case.seed().dead(J1, 3, last_error=b"e"))
    call = published_form(reprocess(case.keys, J1), J1)
    case.replies(call, 1)
    case.errs(call, "EMQSTATE")
    case.replies(published_form(reprocess(case.keys, J2), J2), -1)
    after = case.seed().pending(J1, 3).wakes(1)
    case.shows(after)


def test_w08_a_grouped_job_goes_back_to_its_own_lane(case: Case) -> None:
    seed = case.seed().dead(J1, 3, group=RED.encode())
    case.given(seed)
    case.step(reprocess(case.keys, J1), Reprocessed(J1), seed.copy().pending(J1).wakes(1))


def test_w04_a_ghost_is_gone_and_nothing_is_minted(case: Case) -> None:
    case.given(case.seed().member(case.keys.dead, J1, 0))
    assert case.body.run(reprocess(case.keys, J1)) == Gone(J1)
    assert case.keys.job(J1) not in case.body.dump()


def test_a_broken_row_names_the_job_and_stays(case: Case) -> None:
    case.given(case.seed().dead(J1).broken(J1))
    case.refuses_type(reprocess(case.keys, J1), match=str(J1))
    assert not isinstance(case.body.dump(), ErrorReply)
