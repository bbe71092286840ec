"""Which files the demo reads: the machine's own Python library, or everything below a directory of the user's.

Paths are bytes from here on, because a file's name on this system is bytes: names that are no text work like any other.
Links are not followed, so nothing is read twice and nothing outside the directory is read at all.
"""

import os
import stat
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echomq.errors import InvalidOption, NoFiles

__all__ = ["LIMIT", "Found", "default_directory", "find_files", "shown"]

LIMIT: Final = 20_000
"""How many files the demo takes at most, unless told otherwise."""

_NOT_OF_PYTHON: Final = frozenset((b"site-packages", b"dist-packages", b"__pycache__"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The regular files of a directory, in the order of their names.

    `unreadable` are files and directories that this user may not read. `is_cut` says that there were more than allowed.
    """

    directory: Path
    files: tuple[bytes, ...]
    size_bytes: int
    unreadable: tuple[bytes, ...]
    is_cut: bool


def default_directory() -> Path:
    """Return the directory of this Python's own library."""
    return Path(sysconfig.get_path("stdlib"))


def find_files(directory: Path | None, *, limit: int = LIMIT) -> Found:
    """Return the regular files below a directory, at most `limit`; None stands for Python's own library.

    Of the library everything but installed packages and caches is taken, of any other directory everything. Raises
    `NoFiles` for what is no directory and when there is no file at all.
    """
    if limit < 1:
        raise InvalidOption("limit", limit, "a whole number from 1 on")
    root = default_directory() if directory is None else directory
    if not root.is_dir():
        raise NoFiles(str(root), "is not a directory that exists")
    files: list[bytes] = []
    unreadable: list[bytes] = []
    size_bytes = 0
    is_cut = False
    for path in _walk(os.fsencode(root), _NOT_OF_PYTHON if directory is None else frozenset(), unreadable):
        size = _size_of(path)
        if size is None:
            continue
        if len(files) == limit:
            is_cut = True
            break
        if os.access(path, os.R_OK):
            files.append(path)
            size_bytes += size
        elif len(unreadable) < limit:
            unreadable.append(path)
    if not files:
        raise NoFiles(str(root), "has no file that you can read")
    return Found(directory=root, files=tuple(files), size_bytes=size_bytes, unreadable=tuple(unreadable), is_cut=is_cut)


def shown(path: bytes) -> str:
    """Return a path as text that any terminal and any JSON reader can take."""
    text = os.fsdecode(path)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _walk(root: bytes, left_out: frozenset[bytes], unreadable: list[bytes]) -> Iterator[bytes]:
    def note(error: OSError) -> None:
        if isinstance(error.filename, bytes):
            unreadable.append(error.filename)

    for directory, names, files in os.walk(root, onerror=note):
        names[:] = sorted(name for name in names if name not in left_out)
        for name in sorted(files):
            yield os.path.join(directory, name)  # noqa: PTH118 - a path of bytes, which pathlib has not


def _size_of(path: bytes) -> int | None:
    """Return the size of a regular file, in bytes, and None for anything else."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
