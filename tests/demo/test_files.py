"""Which files the demo takes."""

import os
from pathlib import Path

import pytest

from echomq.demo.files import default_directory, find_files, shown
from echomq.demo.words import about, counted
from echomq.errors import InvalidOption
from tests.demo.scene import Tree


def test_every_regular_file_below_a_folder_is_taken_and_nothing_else(tree: Tree) -> None:
    found = find_files(tree.directory)

    assert set(found.files) == tree.files
    assert len(found.files) == len(tree.files), "none twice"
    assert (found.unreadable, found.is_cut) == ((), False)


def test_the_order_is_the_same_each_time(tree: Tree) -> None:
    assert find_files(tree.directory).files == find_files(tree.directory).files


def test_pythons_library_is_taken_without_installed_packages_and_caches() -> None:
    found = find_files(None)

    assert found.directory == default_directory()
    assert len(found.files) > 500
    assert os.fsencode(default_directory() / "json" / "decoder.py") in found.files
    assert not [path for path in found.files if b"/site-packages/" in path or b"/__pycache__/" in path]


def test_a_folder_of_the_users_is_taken_whole(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_bytes(b"x")

    assert len(find_files(tmp_path).files) == 1


def test_the_limit_cuts_and_is_told(tree: Tree) -> None:
    found = find_files(tree.directory, limit=10)

    assert (len(found.files), found.is_cut) == (10, True)
    assert "There are more; the demo takes only so many (--limit)." in about(found)
    assert find_files(tree.directory, limit=len(tree.files)).is_cut is False


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_listed(tmp_path: Path) -> None:
    for name in ("open", "closed"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "closed folder").mkdir(mode=0)

    found = find_files(tmp_path)

    assert found.files == (os.fsencode(tmp_path / "open"),)
    assert set(found.unreadable) == {os.fsencode(tmp_path / name) for name in ("closed", "closed folder")}
    assert "Left out, because they cannot be read" in " ".join(about(found))


def test_unreadable_files_are_found_by_asking_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The same as above for whoever runs the tests as root.
    for name in ("open", "closed"):
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.setattr(os, "access", lambda path, _mode: not path.endswith(b"closed"))

    found = find_files(tmp_path)

    assert [path.rsplit(b"/", 1)[1] for path in found.unreadable] == [b"closed"]
    assert about(found)[-1] == f"Left out, because they cannot be read: {tmp_path}/closed."


@pytest.mark.parametrize("limit", [0, -1])
def test_an_impossible_limit_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(InvalidOption, match="limit"):
        find_files(tmp_path, limit=limit)


def test_a_path_is_shown_without_anything_that_moves_the_cursor() -> None:
    assert shown(b"/a\n\x1b[2J\xff\xc3\xbc") == "/a\\n\\x1b[2J\\udcffü"
    shown(b"\xff").encode()  # must not raise


def test_one_is_singular() -> None:
    assert (counted(1, "job"), counted(1200, "job"), counted(0, "job")) == ("1 job", "1,200 jobs", "0 jobs")
