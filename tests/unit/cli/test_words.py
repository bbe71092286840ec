"""Rendering, names, exit codes and the demo's sentences, without a server."""

import io
import sys
from dataclasses import fields, replace

import pytest

from echomq.cli.arguments import server_of
from echomq.cli.demo import as_plain, sentences
from echomq.cli.exits import Exit, Terminated, exit_code_of
from echomq.cli.names import SLICES_MAX, find_queues, near, set_of
from echomq.cli.render import View, as_json_bytes, columns, instant, minted_at, printable
from echomq.demo.report import Figures, Problem
from echomq.errors import Disconnected, InvalidOption, UnexpectedReply
from echomq.ids import JobId
from echomq.states import SetName
from tests.demo.figures import figures
from tests.unit.cli.stage import Keys, Said, never_asked

GOOD = figures()


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert columns([{"job": "a", "due_at": None}, {"job": "bcdef", "due_at": "x"}]) == [
        "JOB    DUE AT",
        "a",
        "bcdef  x",
    ]


def test_control_characters_never_reach_the_terminal() -> None:
    assert printable("a\x1b[2J\u202e\nb☃") == "a\\x1b[2J\\u202e\\nb☃"


def test_long_values_are_cut_for_people_and_say_how_long_they_are() -> None:
    assert printable("x" * 500) == "x" * 200 + "… (500 characters)"


def test_nothing_is_cut_where_no_person_looks() -> None:
    said = Said()
    view = replace(said.view, most=None)

    view.record({"payload": "x" * 500})
    view.rows({}, "jobs", [{"error": "y" * 500}])

    assert said.lines == [["payload", "x" * 500], ["ERROR"], ["y" * 500]]


def test_bytes_are_text_where_they_can_be() -> None:
    assert as_json_bytes("payload", b"ok") == {"payload": "ok"}
    assert as_json_bytes("payload", b"\xff") == {"payload": None, "payload_base64": "/w=="}
    assert as_json_bytes("payload", None) == {"payload": None}


def test_instants_are_in_utc_with_milliseconds() -> None:
    assert instant(1704067200007) == "2024-01-01T00:00:00.007Z"
    assert instant(None) is None
    assert instant(253_402_300_799_000) == "9999-12-31T23:59:59.000Z"
    assert instant(253_402_300_800_000) is None


@pytest.mark.parametrize("raw", [b"", b"x", b"JOB!!!!!!!!!!!", b"JOB" + b"z" * 50, b"JOBzzzzzzzzzzz"])
def test_an_id_of_another_speaker_that_is_none_has_no_instant(raw: bytes) -> None:
    assert minted_at(JobId.of_server(raw)) is None
    assert minted_at(None) is None


def test_an_id_tells_when_it_was_minted() -> None:
    assert minted_at(JobId.smallest_at(1704067200007)) == "2024-01-01T00:00:00.007Z"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (None, "the embedded server in /srv/emq"),
        ("valkey://me:secret@10.0.0.5:7000/2", "valkey://me@10.0.0.5:7000/2"),
        ("unix:///run/emq.sock", "unix:///run/emq.sock"),
    ],
)
def test_a_server_is_named_without_its_password(url: str | None, name: str) -> None:
    assert server_of(url, {"ECHOMQ_HOME": "/srv/emq"}) == name


def test_yes_asks_nobody() -> None:
    view = View(out=io.StringIO(), err=io.StringIO(), ask=never_asked)

    assert view.may("delete it", yes=True)


def test_nobody_to_ask_is_told_what_to_do() -> None:
    said = Said()

    assert not said.view.may("delete 2 jobs that wait in mail", yes=False)
    assert said.talk == (
        "echomq: nothing was done, since nobody can be asked here: give --yes to delete 2 jobs that wait in mail\n"
    )


def test_queues_are_found_over_all_slices_and_once_each() -> None:
    server = Keys([b"emq:{b}:x", b"emq:{a}:x", b"emq:{b}:y", b"emq:{bad name}:x", b"other"], step=2)

    found = find_queues(server)

    assert (found.names, found.is_complete, server.asked) == (("a", "b"), True, 3)


def test_a_walk_over_too_many_keys_ends_and_says_so() -> None:
    server = Keys([b"emq:{a}:x"] * (SLICES_MAX + 5), step=1)

    found = find_queues(server)

    assert (found.names, found.is_complete, server.asked) == (("a",), False, SLICES_MAX)


def test_a_server_that_answers_nonsense_is_an_error() -> None:
    class Nonsense(Keys):
        def command(self, *parts: bytes | str | int) -> object:
            return b"OK"

    with pytest.raises(UnexpectedReply):
        find_queues(Nonsense())


def test_the_near_name_is_never_the_name_itself() -> None:
    assert near("mail", ["mail", "nail"]) == "nail"
    assert near("mail", ["something"]) is None


@pytest.mark.parametrize("name", list(SetName))
def test_every_set_has_its_own_word(name: SetName) -> None:
    assert set_of(name.value) is name


@pytest.mark.parametrize(
    ("raised", "code", "sentence"),
    [
        (Disconnected("the server is away"), Exit.FAILED, "echomq: the server is away\n"),
        (InvalidOption("limit", 0, "more"), Exit.USAGE, "echomq: limit=0 is not possible: allowed is more\n"),
        (
            PermissionError(13, "Permission denied", "/x"),
            Exit.FAILED,
            "echomq: this machine refused ([Errno 13] Permission denied: '/x')\n",
        ),
        (KeyboardInterrupt(), Exit.INTERRUPTED, "echomq: interrupted\n"),
        (Terminated(), Exit.TERMINATED, "echomq: told to end\n"),
    ],
)
def test_what_is_raised_becomes_a_sentence_and_a_code(raised: BaseException, code: Exit, sentence: str) -> None:
    def command() -> int:
        raise raised

    err = io.StringIO()
    assert exit_code_of(command, err) == code
    assert err.getvalue() == sentence


def test_a_bug_is_not_hidden() -> None:
    def command() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        exit_code_of(command, sys.stderr)


def test_the_demo_in_json_has_every_figure() -> None:
    assert set(as_plain(GOOD)) == {"good", *(each.name for each in fields(GOOD))}


@pytest.mark.parametrize(
    ("recovered", "end"),
    [
        (0, "so this is the line."),
        (1, "so this is the line, without those that waited for the killed worker's leases."),
    ],
)
def test_what_stands_in_the_figures_about_the_line_is_said(recovered: int, end: str) -> None:
    about = next(line for line in sentences(replace(GOOD, recovered=recovered)) if line.startswith("From enqueue"))

    assert about.endswith(end)


def test_a_good_demo_says_so() -> None:
    assert sentences(GOOD)[-1] == "Nothing was lost, and every result is right."


@pytest.mark.parametrize("bad", [replace(GOOD, lost=1), replace(GOOD, failed=1), replace(GOOD, different=1)])
def test_a_bad_demo_says_so_and_names_the_file(bad: Figures) -> None:
    problem = Problem(kind="lost", path="/lib/a\\x1b.py", job=JobId.parse("JOB0NgWefAEJfs"), reason="there is none")
    figures = replace(bad, problems=(problem,))

    assert not figures.is_good
    assert sentences(figures)[-2:] == [
        "lost: /lib/a\\x1b.py (job JOB0NgWefAEJfs): there is none",
        "SOMETHING IS MISSING OR DIFFERENT.",
    ]


def test_a_held_job_that_did_not_come_back_is_no_good_demo() -> None:
    assert not replace(GOOD, held=2, held_back=1).is_good


def test_a_demo_without_a_kill_does_not_claim_one() -> None:
    assert "No worker was killed" in " ".join(sentences(replace(GOOD, killed=False, held=0, held_back=0)))


def test_a_record_leaves_out_what_is_not_there_for_people_only() -> None:
    said, data = Said(), Said(is_json=True)
    for each in (said, data):
        each.view.record({"job": "a", "group": None})

    assert said.lines == [["job", "a"]]
    assert data.data == {"job": "a", "group": None}
