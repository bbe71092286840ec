"""Comparing and counting, without a server."""

import os
from pathlib import Path

import msgspec
import pytest

from echomq.demo.handler import FileFacts, FileJob, FileReader, decode_facts, encode_job, facts_of
from echomq.demo.journal import JournalReader, JournalWriter, Started
from echomq.demo.report import Ending, compare, jobs_per_second
from echomq.demo.waits import percentile, waits_ms
from echomq.demo.worker import Holder
from echomq.ids import JobId
from echomq.records import Failed, Finished, Gone, Token, Waiting
from echomq.states import JobState

JOB, OTHER = JobId.parse("JOB0NgWefAEJfs"), JobId.parse("JOB0NgWefAEJft")
RIGHT = FileFacts(3, 1, b"\x01" * 32)
WRONG = FileFacts(3, 1, b"\x02" * 32)


def finished(facts: FileFacts | bytes, *, attempts: int = 1, at_ms: int = 0) -> Finished:
    result = facts if isinstance(facts, bytes) else msgspec.msgpack.encode(facts)
    return Finished(JOB, result, attempts, at_ms)


def judged(ending: Ending | None, *, again: FileFacts = RIGHT) -> list[str]:
    endings = {} if ending is None else {JOB: ending}
    return [problem.kind for problem in compare({JOB: b"/f"}, endings, {JOB: RIGHT}, read_again=lambda _path: again)]


@pytest.mark.parametrize(
    ("ending", "kinds"),
    [
        (finished(RIGHT), []),
        (finished(WRONG), ["different"]),
        (finished(b"\xc1"), ["different"]),
        (finished(b""), ["different"]),
        (Gone(JOB), ["lost"]),
        (Waiting(JOB, JobState.ACTIVE, 1), ["lost"]),
        (Failed(JOB, "boom", 3), ["failed"]),
        (None, ["lost"]),
    ],
)
def test_each_ending_is_judged(ending: Ending | None, kinds: list[str]) -> None:
    assert judged(ending) == kinds


def test_a_file_that_changed_is_no_wrong_result() -> None:
    newer = FileFacts(9, 9, b"\x03" * 32)

    assert judged(finished(newer), again=newer) == [], "the worker read what is there"
    assert judged(finished(WRONG), again=newer) == ["changed"]
    assert judged(finished(b""), again=newer) == ["changed"]


def test_a_lost_job_is_lost_even_if_its_file_changed() -> None:
    assert judged(Gone(JOB), again=WRONG) == ["lost"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [(b"", 0), (b"x", 1), (b"\n", 1), (b"a\nb", 2), (b"a\nb\n", 2), (b"\n\n\n", 3), (b"a\r\nb", 2)],
)
def test_lines_are_counted_with_an_unfinished_last_one(tmp_path: Path, content: bytes, lines: int) -> None:
    (tmp_path / "f").write_bytes(content)

    facts = facts_of(os.fsencode(tmp_path / "f"))

    assert (facts.size_bytes, facts.lines, facts.trouble) == (len(content), lines, "")


def test_a_file_larger_than_a_chunk_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(b"x" * (1 << 20) + b"\n" + b"y" * (1 << 20))

    facts = facts_of(os.fsencode(tmp_path / "whole"))

    assert (facts.size_bytes, facts.lines) == ((2 << 20) + 1, 2)


@pytest.mark.parametrize("kind", ["missing", "folder", "link"])
def test_what_cannot_be_read_is_a_fact_and_no_exception(tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        (tmp_path / kind).mkdir()
    if kind == "link":
        (tmp_path / kind).symlink_to(__file__)

    assert facts_of(os.fsencode(tmp_path / kind)).trouble


def test_a_pipe_that_took_the_place_of_a_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert facts_of(os.fsencode(tmp_path / "pipe")).size_bytes == 0


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([], 50) is None
    assert percentile([7], 99) == 7
    assert percentile(list(range(1, 101)), 50) == 50
    assert percentile(list(range(1, 101)), 99) == 99
    assert percentile([1, 2], 50) == 1


def test_the_wait_is_that_of_the_first_start() -> None:
    minted = JOB.minted_at_ms
    started = [Started(JOB, Token(2), minted + 2000), Started(JOB, Token(1), minted + 5)]

    assert waits_ms(started, [JOB, OTHER]) == [5]


def test_a_clock_that_went_back_gives_no_negative_wait() -> None:
    assert waits_ms([Started(JOB, Token(1), JOB.minted_at_ms - 50)], [JOB]) == [0]


def test_the_speed_leaves_out_what_came_back() -> None:
    endings = [finished(RIGHT, at_ms=at) for at in range(0, 1001, 100)]

    assert jobs_per_second([*endings, finished(RIGHT, attempts=2, at_ms=9000)]) == 11.0
    assert jobs_per_second(endings[:1]) is None
    assert jobs_per_second([]) is None


def test_the_journal_tells_each_start_and_ignores_half_a_record(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    reader = JournalReader(path)
    assert (reader.count(), reader.read()) == (0, [])
    writer = JournalWriter(path)

    assert [writer.note(JOB, Token(1)), writer.note(OTHER, Token(2))] == [1, 2]
    writer.close()
    with path.open("ab") as file:
        file.write(b"half")

    assert reader.count() == 2
    assert [(record.job, record.token) for record in reader.read()] == [(JOB, 1), (OTHER, 2)]


def test_the_handler_notes_the_start_before_it_reads(tmp_path: Path) -> None:
    class Run:
        job, token, payload = JOB, Token(1), encode_job(os.fsencode(tmp_path / "f"))

    (tmp_path / "f").write_bytes(b"text")
    seen: list[int] = []
    reader = JournalReader(tmp_path / "journal")
    writer = JournalWriter(tmp_path / "journal")

    def gate(started: int) -> None:
        seen.extend([started, reader.count()])

    result = FileReader(writer, gate).handle(Run())
    writer.close()

    assert seen == [1, 1]
    facts = decode_facts(result)
    assert facts is not None
    assert (facts.size_bytes, facts.lines) == (4, 1)


def test_a_payload_keeps_a_path_that_is_no_text() -> None:
    assert msgspec.msgpack.decode(encode_job(b"/a\n\xff"), type=FileJob).path == b"/a\n\xff"


def test_a_held_job_goes_on_when_it_is_let_go() -> None:
    holder = Holder(2)
    holder(1)  # not the one to hold
    holder.let_go()
    holder(2)
    Holder(None)(1)
