"""The directory in which the workers of one run keep their journals, and the removal of those that dead demos left.

A demo that is killed with SIGKILL removes nothing. Each holds a lock on a file in its directory as long as it lives,
and the kernel releases that however it ends; so whoever gets the lock may remove the directory. No pid is looked at.
"""

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from echomq.embedded.locks import FileLock
from echomq.errors import EmbeddedFailed

__all__ = ["remove_leftovers", "scratch"]

_PREFIX: Final = "echomq-demo-"
_LOCK: Final = "alive.lock"
_LOCKLESS_S: Final = 3_600
"""How old a directory without a lock must be: a demo takes its lock a moment after it has made the directory."""

_LOOKED_AT_MAX: Final = 1_000


@contextmanager
def scratch(root: Path | None = None) -> Iterator[Path]:
    """Make a private directory below `root` (None: the system's place for such), and remove it in the end."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=root) as name:
        lock = FileLock.take(Path(name) / _LOCK, shared=False)
        try:
            yield Path(name)
        finally:
            if lock is not None:
                lock.close()


def remove_leftovers(root: Path | None = None) -> int:
    """Remove the directories of this user's demos that live no more, and return how many. Never raises for them."""
    count = 0
    base = Path(tempfile.gettempdir()) if root is None else root
    for at, path in enumerate(base.glob(f"{_PREFIX}*")):
        if at == _LOOKED_AT_MAX:
            break
        with contextlib.suppress(OSError, EmbeddedFailed):
            count += _remove_if_left(path)
    return count


def _remove_if_left(path: Path) -> bool:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return False
    lock_path = path / _LOCK
    if not lock_path.exists():
        if time.time() - found.st_mtime < _LOCKLESS_S:
            return False
        shutil.rmtree(path)
        return True
    lock = FileLock.take(lock_path, shared=False)
    if lock is None:
        return False
    try:
        shutil.rmtree(path)
    finally:
        lock.close()
    return True
