"""The directory of a run, and what dead demos left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from echomq.demo.scratch import remove_leftovers, scratch

KILLED = """
import os, signal, sys
from pathlib import Path
from echomq.demo.scratch import scratch
with scratch(Path(sys.argv[1])) as directory:
    (directory / "worker-1.journal").write_bytes(b"x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_demo_that_ends_leaves_nothing(tmp_path: Path) -> None:
    with scratch(tmp_path) as directory:
        assert directory.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_demo_left_is_removed_and_a_living_one_keeps_its_own(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()

    with scratch(tmp_path) as living:
        assert remove_leftovers(tmp_path) == 1
        assert list(tmp_path.iterdir()) == [living]
    assert not left.exists()


@pytest.mark.parametrize(("age_s", "count"), [(0, 0), (7_200, 1)])
def test_one_without_a_lock_is_removed_only_when_it_is_old(tmp_path: Path, age_s: int, count: int) -> None:
    directory = tmp_path / "echomq-demo-abc"
    directory.mkdir()
    at = directory.stat().st_mtime - age_s
    os.utime(directory, (at, at))

    assert remove_leftovers(tmp_path) == count
    assert directory.exists() is (count == 0)


def test_links_files_and_other_names_stay(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "alive.lock").touch()
    (tmp_path / "echomq-demo-link").symlink_to(tmp_path / "precious")
    (tmp_path / "echomq-demo-file").touch()

    assert remove_leftovers(tmp_path) == 0
    assert len(list(tmp_path.iterdir())) == 3
    assert (tmp_path / "precious" / "alive.lock").exists()


def test_those_of_other_users_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "echomq-demo-abc"
    directory.mkdir()
    (directory / "alive.lock").touch()
    monkeypatch.setattr(os, "geteuid", lambda: directory.stat().st_uid + 1)

    assert remove_leftovers(tmp_path) == 0
    assert directory.exists()
