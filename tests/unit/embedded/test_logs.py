from pathlib import Path

import pytest

from echomq.embedded import logs
from echomq.errors import EmbeddedFailed


def test_a_log_is_two_files_of_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LOG_BYTES_MAX", 1_000)
    log = tmp_path / "keeper.log"
    for number in range(200):
        logs.note(log, f"line {number}")
    assert sorted(tmp_path.iterdir()) == [log, tmp_path / "keeper.log.1"]
    assert all(path.stat().st_size < 1_200 for path in tmp_path.iterdir())
    assert "line 199" in log.read_text()


@pytest.mark.parametrize("mode", [None, 0o644])
def test_a_log_is_its_users_alone(tmp_path: Path, mode: int | None) -> None:
    noted, given = tmp_path / "keeper.log", tmp_path / "server.log"
    if mode is not None:
        for path in (noted, given):
            path.touch()
            path.chmod(mode)
    logs.note(noted, "line")
    logs.opened(given).close()
    assert [path.stat().st_mode & 0o777 for path in (noted, given)] == [0o600, 0o600]


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    logs.note(tmp_path / "missing" / "log", "line")
    logs.rotate(tmp_path / "missing" / "log")
    assert logs.size_bytes(tmp_path / "missing" / "log") == 0
    assert logs.tail(tmp_path / "missing" / "log") == ""


def test_a_log_for_a_child_that_cannot_be_opened_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedFailed, match="cannot be written"):
        logs.opened(tmp_path / "missing" / "log")


def test_the_tail_is_short_and_leaves_out_earlier_runs(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"old {number}\n" for number in range(2_000)))
    since_bytes = logs.size_bytes(log)
    assert logs.tail(log).splitlines() == [f"old {number}" for number in range(1_992, 2_000)]
    with log.open("a") as more:
        more.write("new\n")
    assert logs.tail(log, since_bytes=since_bytes) == "new"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("# Bad file format reading the append only file x.aof", "valkey-check-aof --fix on the manifest in /d/append"),
        ("# Write error: No space left on device", "the disk is full"),
        ("bind: Address already in use", "listens on that port or socket"),
        ("Can't open the append-only file: Permission denied", "below /d"),
        ("Read-only file system", "mounted read-only"),
        ("something else", "the end of its log says why"),
        ("", "the log is empty"),
    ],
)
def test_a_known_cause_is_named_above_the_log(line: str, sentence: str) -> None:
    told = logs.diagnosis(line, data=Path("/d"), exit_code=1)
    assert sentence in told
    assert told.startswith("the embedded server did not start: ")
    assert line in told


def test_a_server_that_was_killed_while_it_started_is_told_apart() -> None:
    assert "ended by signal 9" in logs.diagnosis("Ready", data=Path("/d"), exit_code=-9)
    assert "disk is full" in logs.diagnosis("No space left on device", data=Path("/d"), exit_code=-9)
