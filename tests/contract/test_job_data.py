"""update_data, update_progress, add_log and logs: protocol 4.13; docs/wire.md, job data."""

import json

import pytest

from echomq.errors import BadInput, PayloadTooLarge
from echomq.records import Gone, Logged, Logs, Stale, Token, Updated
from echomq.transitions.add_log import add_log
from echomq.transitions.logs import logs
from echomq.transitions.update_data import update_data
from echomq.transitions.update_progress import update_progress
from tests.harness.case import Case, published_form
from tests.harness.jobs import J1, J2


def test_the_payload_is_replaced(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed)
    case.step(update_data(case.keys, J1, b"\x00new"), Updated(J1), seed.copy().row(J1, payload=b"\x00new"))
    call = update_data(case.keys, J1, b"newer", token=Token(1))
    case.step(call, Updated(J1), seed.copy().row(J1, payload=b"newer"))


def test_the_progress_is_written_and_heard(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed)
    case.body.listen()
    progress = 'half "way" \\ done é'.encode()
    case.step(update_progress(case.keys, J1, progress), Updated(J1), seed.copy().row(J1, progress=progress))
    heard = case.body.published()
    assert [channel for channel, _ in heard] == [case.keys.events]
    message = json.loads(heard[0][1])
    assert message == {"event": "progress", "job": str(J1), "progress": progress.decode()}
    assert b'"event":"progress"' in heard[0][1], "other speakers scan for this text"


@pytest.mark.parametrize(
    ("progress", "heard"),
    [
        ("\U00010000\U0010ffff\u0800\uffff\u07ff\x7f".encode(), "\U00010000\U0010ffff\u0800\uffff\u07ff\x7f"),
        (b"a\xc3b", "a\ufffdb"),  # cut short
        (b"\xc0\x80", "\ufffd\ufffd"),  # too long a form
        (b"\xe0\x9f\xbf", "\ufffd\ufffd\ufffd"),  # too long a form
        (b"\xf0\x8f\xbf\xbf", "\ufffd\ufffd\ufffd\ufffd"),  # too long a form
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),  # a surrogate
        (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),  # above the last character
        (b"\xf5\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
        (b"\xff", "\ufffd"),
        (b"\xe2\x82x", "\ufffd\ufffdx"),  # one for each byte
        (b"\x00\x1f\n", "\x00\x1f\n"),
    ],
)
def test_what_is_heard_is_valid_json_whatever_the_progress(case: Case, progress: bytes, heard: str) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    case.body.listen()
    assert case.body.run(update_progress(case.keys, J1, progress)) == Updated(J1)
    assert json.loads(case.body.published()[0][1])["progress"] == heard
    case.shows(case.seed().active(J1, 1, ends=1, progress=progress))


def test_progress_that_is_no_text_is_stored_as_it_is_and_heard_as_valid_json(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    case.body.listen()
    progress = bytes(range(256))
    assert case.body.run(update_progress(case.keys, J1, progress)) == Updated(J1)
    case.shows(case.seed().active(J1, 1, ends=1, progress=progress))
    assert json.loads(case.body.published()[0][1])["job"] == str(J1)


def test_lines_stand_in_append_order_and_the_last_are_kept(case: Case) -> None:
    seed = case.seed().active(J1, 1, ends=1)
    case.given(seed)
    lines = case.keys.job_logs(J1)
    case.step(add_log(case.keys, J1, b"a", keep=2), Logged(J1, 1), seed.copy().lines(lines, b"a"))
    case.step(add_log(case.keys, J1, b"b", keep=2, token=Token(1)), Logged(J1, 2), seed.copy().lines(lines, b"a", b"b"))
    case.step(add_log(case.keys, J1, b"c", keep=2), Logged(J1, 2), seed.copy().lines(lines, b"b", b"c"))


def test_w40_a_log_keeps_its_last_thousand_lines_unless_told(case: Case) -> None:
    lines = [b"%d" % n for n in range(1000)]
    seed = case.seed().pending(J1).lines(case.keys.job_logs(J1), *lines)
    case.given(seed)
    after = seed.copy().lines(case.keys.job_logs(J1), *lines[1:], b"last")
    case.step(add_log(case.keys, J1, b"last"), Logged(J1, 1000), after)


def test_w37_a_superseded_worker_writes_nothing(case: Case) -> None:
    case.given(case.seed().active(J1, 2, ends=1))
    case.body.listen()
    case.keeps(update_data(case.keys, J1, b"x", token=Token(1)), Stale(J1))
    case.keeps(update_progress(case.keys, J1, b"x", token=Token(1)), Stale(J1))
    case.keeps(add_log(case.keys, J1, b"x", token=Token(1)), Stale(J1))
    assert case.body.published() == []


def test_w04_no_row_and_a_skeleton_are_gone_and_not_written_to(case: Case) -> None:
    case.given(case.seed().fields(case.keys.job(J2), lock=b"1"))
    case.body.listen()
    for job in (J1, J2):
        case.keeps(update_data(case.keys, job, b"x"), Gone(job))
        case.keeps(update_data(case.keys, job, b"x", token=Token(1)), Gone(job))
        case.keeps(update_progress(case.keys, job, b"x"), Gone(job))
        case.keeps(add_log(case.keys, job, b"x"), Gone(job))
        case.keeps(logs(case.keys, job), Gone(job))
    assert case.body.published() == []


def test_published_arguments_and_replies(case: Case) -> None:
    seed = case.seed().pending(J1)
    case.given(seed)
    case.replies(published_form(update_data(case.keys, J1, b"x"), b"x"), 1)
    case.replies(published_form(update_progress(case.keys, J1, b"x"), b"50", J1, case.keys.base), 1)
    case.replies(published_form(add_log(case.keys, J1, b"x"), b"a", b""), 1)
    case.replies(published_form(add_log(case.keys, J1, b"x"), b"b", b""), 2)
    case.replies(published_form(add_log(case.keys, J1, b"x"), b"c", 2), 2)
    case.shows(seed.row(J1, payload=b"x", progress=b"50").lines(case.keys.job_logs(J1), b"b", b"c"))
    case.replies(published_form(update_data(case.keys, J2, b"x"), b"x"), -1)
    case.replies(published_form(update_progress(case.keys, J2, b"x"), b"50", J2, case.keys.base), -1)
    case.replies(published_form(add_log(case.keys, J2, b"x"), b"a", b""), -1)


def test_w38_a_slice_and_the_total_in_one_step(case: Case) -> None:
    case.given(case.seed().pending(J1).lines(case.keys.job_logs(J1), b"a", b"\xff", b"c", b"d"))
    case.keeps(logs(case.keys, J1), Logs((b"a", b"\xff", b"c", b"d"), 4))
    case.keeps(logs(case.keys, J1, start=1, count=2), Logs((b"\xff", b"c"), 4))
    case.keeps(logs(case.keys, J1, start=9), Logs((), 4))
    case.replies(logs(case.keys, J1, start=3, count=1), [b"logs", 4, [b"d"]])
    case.replies(logs(case.keys, J2), [b"gone"])


def test_a_job_without_lines_has_none(case: Case) -> None:
    case.given(case.seed().pending(J1))
    case.keeps(logs(case.keys, J1), Logs((), 0))


def test_broken_rows_name_the_job_and_stay(case: Case) -> None:
    case.given(case.seed().active(J1, 1, ends=1).broken(J1))
    for call in (update_data(case.keys, J1, b"x"), update_progress(case.keys, J1, b"x")):
        case.refuses_type(call, match=str(J1))
    case.refuses_type(add_log(case.keys, J1, b"x"))
    case.refuses_type(logs(case.keys, J1))


def test_what_is_out_of_range_is_refused_before_the_wire(case: Case) -> None:
    with pytest.raises(BadInput):
        logs(case.keys, J1, count=1001)
    with pytest.raises(BadInput):
        logs(case.keys, J1, start=-1)
    with pytest.raises(BadInput):
        add_log(case.keys, J1, "text")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(BadInput):
        update_data(case.keys, J1, b"x", token=0)  # type: ignore[arg-type]  # the mistake under test


def test_progress_is_at_most_four_kibibytes_for_every_caller(case: Case) -> None:
    case.given(case.seed().pending(J1))
    with pytest.raises(PayloadTooLarge, match="4097 bytes and the limit is 4096"):
        update_progress(case.keys, J1, b"x" * 4097)
    long = published_form(update_progress(case.keys, J1, b"x"), b"x" * 4097, J1, case.keys.base)
    case.errs(long, "ERR")
    case.step(update_progress(case.keys, J1, b"x" * 4096), Updated(J1), case.seed().pending(J1, progress=b"x" * 4096))
