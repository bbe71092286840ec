import os
import time
from pathlib import Path

import pytest

from echomq.embedded.locks import FileLock, is_held
from echomq.errors import EmbeddedFailed

# The test runner may have threads; the child only closes files and ends.
may_fork = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def taken(path: Path, *, shared: bool) -> FileLock:
    lock = FileLock.take(path, shared=shared)
    assert lock is not None
    return lock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_many_may_share_and_then_nobody_has_it_alone(path: Path) -> None:
    first, second = taken(path, shared=True), taken(path, shared=True)
    first.close()
    assert FileLock.take(path, shared=False) is None
    second.close()
    taken(path, shared=False).close()


def test_one_who_has_it_alone_shuts_everybody_out(path: Path) -> None:
    lock = taken(path, shared=False)
    assert FileLock.take(path, shared=True) is None
    assert is_held(path)
    lock.close()
    assert not is_held(path)


def test_a_wait_ends_at_its_deadline(path: Path) -> None:
    lock = taken(path, shared=False)
    assert FileLock.wait(path, shared=True, deadline=time.monotonic() + 0.02) is None
    lock.close()
    again = FileLock.wait(path, shared=True, deadline=time.monotonic())
    assert again is not None
    again.close()


def test_a_lock_on_a_removed_file_does_not_count(path: Path) -> None:
    old = taken(path, shared=False)
    path.unlink()
    assert not old.is_current()
    new = taken(path, shared=False)
    assert new.is_current()
    assert not old.is_current()
    new.close()
    old.close()


def test_a_touch_changes_the_stamp(path: Path) -> None:
    lock = taken(path, shared=True)
    os.utime(path, ns=(1, 1))
    assert lock.stamp_ns() == 1
    lock.touch()
    assert lock.stamp_ns() > 1
    lock.close()


@may_fork
def test_closing_in_a_forked_child_keeps_the_lock_and_releasing_ends_it(path: Path) -> None:
    lock = taken(path, shared=False)
    for action, held in ((lock.close, True), (lock.release, False)):
        child = os.fork()
        if child == 0:
            action()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert is_held(path) is held
    lock.close()


def test_closing_twice_closes_nothing_else(path: Path) -> None:
    lock = taken(path, shared=True)
    lock.close()
    other = taken(path, shared=True)
    lock.close()
    lock.release()
    other.touch()
    assert other.is_current()
    other.close()


@may_fork
def test_a_lock_never_takes_the_place_of_a_standard_stream(path: Path) -> None:
    child = os.fork()
    if child == 0:
        os.close(0)
        lock = FileLock.take(path, shared=True)
        os._exit(0 if lock is not None and lock.fileno() > 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_lock_file_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedFailed, match="cannot be opened"):
        FileLock.take(tmp_path / "missing" / "lock", shared=True)
