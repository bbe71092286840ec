"""The logs of the embedded server: bounded on disk, and read when something failed."""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from echomq.errors import EmbeddedFailed

__all__ = ["LOG_BYTES_MAX", "diagnosis", "note", "opened", "rotate", "size_bytes", "tail"]

LOG_BYTES_MAX = 1_000_000
"""A log above this is renamed to `.1`, replacing the one before: two files of about this size at most."""

_TAIL_LINES = 8
_TAIL_BYTES = 4_096

# What the server writes, and what a person should do about it.
_CAUSES = (
    (
        "Bad file format reading the append only file",
        (
            "its append-only file is damaged: valkey-check-aof --fix on the manifest in {data}/appendonlydir cuts it"
            " off at the damage, and moving that directory away starts empty"
        ),
    ),
    ("Unexpected end of file reading the append only file", "its append-only file ends in the middle of a command"),
    ("No space left on device", "the disk is full; make room and try again"),
    ("Address already in use", "another program listens on that port or socket already; choose another one"),
    ("Permission denied", "it may not read or write one of its files below {data}"),
    ("Read-only file system", "the disk is mounted read-only; set ECHOMQ_HOME to a place that can be written"),
    ("Can't load module", "a module could not be loaded into it"),
)


def rotate(path: Path) -> None:
    """Rename a log that has grown above `LOG_BYTES_MAX`. Its writers open it by name for each line."""
    with contextlib.suppress(OSError):
        if path.stat().st_size > LOG_BYTES_MAX:
            path.replace(path.with_name(path.name + ".1"))


def _private(path: str, flags: int) -> int:
    """Open a file that only its user may read, also where an earlier one was made otherwise: a log can name jobs."""
    fd = os.open(path, flags, 0o600)
    with contextlib.suppress(OSError):
        os.fchmod(fd, 0o600)
    return fd


def opened(path: Path) -> IO[bytes]:
    """Open a log for a child to append to; only its user may read it. `EmbeddedFailed` when that cannot be done."""
    try:
        return open(path, "ab", opener=_private)
    except OSError as error:
        raise EmbeddedFailed(
            f"the log {path} cannot be written ({error.strerror}): make room, or set ECHOMQ_HOME to another place"
        ) from error


def note(path: Path, line: str) -> None:
    """Append a line with its time. A log that cannot be written is no reason to stop."""
    rotate(path)
    stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
    text = f"{stamp} [{os.getpid()}] {line}\n"
    with contextlib.suppress(OSError), open(path, "ab", opener=_private) as log:
        log.write(text.encode("utf-8", "backslashreplace"))


def size_bytes(path: Path) -> int:
    """Return how long a log is: what stands behind that point later belongs to what happens next."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def tail(path: Path, *, since_bytes: int = 0) -> str:
    """Return the last lines of a log from `since_bytes` on, or an empty text when there are none."""
    try:
        with path.open("rb") as log:
            log.seek(max(since_bytes, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_TAIL_LINES:])


def diagnosis(end_of_log: str, *, data: Path, exit_code: int | None) -> str:
    """Return a sentence about why a server did not start, with the end of its log below it.

    `exit_code` is negative for a signal, as `subprocess` gives it.
    """
    for sign, cause in _CAUSES:
        if sign in end_of_log:
            reason = cause.format(data=data)
            break
    else:
        reason = "the end of its log says why"
        if exit_code is not None and exit_code < 0:
            reason = f"it was ended by signal {-exit_code}, by another program or for want of memory"
    shown = end_of_log or "(the log is empty)"
    return f"the embedded server did not start: {reason}\n{shown}"
