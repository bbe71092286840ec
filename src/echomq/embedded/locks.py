"""Locks on files, released by the kernel however a process ends.

They are `flock` locks: they belong to the open file, so a forked child shares its parent's lock, and the lock ends
when the last of them has closed it or died. No pid is stored and nothing can go stale. A network file system may not
keep that promise; the state directory must be local.

A file that was removed and made anew is another lock. After locking, the path is therefore compared with what was
locked, and a lock on a removed file does not count.
"""

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Self

from echomq.errors import EmbeddedFailed

if sys.platform != "win32":
    import fcntl

__all__ = ["POLL_MS", "FileLock", "is_held"]

POLL_MS = 10
"""How often a lock with a deadline is tried: the kernel offers no wait with a time limit."""

_FIRST_FD = 3  # a lock must not take the place of a closed standard stream: it would be overwritten in a child


class FileLock:
    """A lock that is held. `close` gives up this process's share; a forked child keeps its own."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def take(cls, path: Path, *, shared: bool) -> Self | None:
        """Return the lock, or None when somebody holds it the other way. Does not wait."""
        fd = _open(path)
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        except OSError as error:
            os.close(fd)
            raise EmbeddedFailed(
                f"{path} cannot be locked ({error.strerror}): the state directory must be on a local file system"
            ) from error
        lock = cls(path, fd)
        if lock.is_current():
            return lock
        lock.close()
        return None

    @classmethod
    def wait(cls, path: Path, *, shared: bool, deadline: float) -> Self | None:
        """Return the lock, or None when `deadline` (on `time.monotonic`) passed first."""
        while (lock := cls.take(path, shared=shared)) is None:
            if time.monotonic() >= deadline:
                return None
            time.sleep(POLL_MS / 1000)
        return lock

    def fileno(self) -> int:
        """Return the open file, to be handed to a child that is to hold the lock too."""
        return self._fd

    def is_current(self) -> bool:
        """Tell whether the path still names the file that is locked."""
        try:
            named = self.path.stat()
        except OSError:
            return False
        held = os.fstat(self._fd)
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)

    def stamp_ns(self) -> int:
        """Return when the file was last touched; only good for telling whether it changed."""
        return os.fstat(self._fd).st_mtime_ns

    def touch(self) -> None:
        """Leave a mark that somebody was here."""
        with contextlib.suppress(OSError):
            os.utime(self._fd)

    def release(self) -> None:
        """Unlock for everybody who shares this open file, forked children too, and close it."""
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Give up this process's share. Safe to repeat."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def is_held(path: Path) -> bool:
    """Tell whether somebody holds the lock alone. The shared look disturbs no other look."""
    lock = FileLock.take(path, shared=True)
    if lock is None:
        return True
    lock.close()
    return False


def _open(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EmbeddedFailed(
            f"{path} cannot be opened ({error.strerror}): the state directory must be writable and have room"
        ) from error
    if fd >= _FIRST_FD:
        return fd
    high: int = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)
    os.close(fd)
    return high
