"""What each worker was doing, told in a way that survives its death: one record for each job that it starts.

A record is one write to the end of a file, so it is there as soon as the job starts, whole, whatever happens to the
process next. The demo reads the files to know which jobs a killed worker had in hand, and when each job first started.
A pipe would do the same until nobody reads it, and then it would hold the worker up.
"""

import os
import struct
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from echomq.clock import SYSTEM_CLOCK, Clock
from echomq.ids import JobId
from echomq.records import Token

__all__ = ["JournalReader", "JournalWriter", "Started"]

_RECORD: Final = struct.Struct(">14sQQ")


@dataclass(frozen=True, slots=True)
class Started:
    """A worker started this attempt of a job, at an instant of this machine's clock, in Unix ms."""

    job: JobId
    token: Token
    at_ms: int


class JournalWriter:
    """The worker's end. Safe to use from several threads."""

    def __init__(self, path: Path, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._clock = clock
        self._lock = threading.Lock()
        self._count = 0

    def note(self, job: JobId, token: Token) -> int:
        """Note that an attempt starts, and return how many this worker has started with it."""
        with self._lock:
            os.write(self._fd, _RECORD.pack(job, token, self._clock.unix_ms()))
            self._count += 1
            return self._count

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class JournalReader:
    """The demo's end. A file that is not there yet reads as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def count(self) -> int:
        """Return how many jobs were started so far. Costs one look at the file's size."""
        try:
            return self._path.stat().st_size // _RECORD.size
        except FileNotFoundError:
            return 0

    def read(self) -> list[Started]:
        """Return every record so far, in order of starting."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return []
        whole = len(content) // _RECORD.size * _RECORD.size
        return [
            Started(JobId.parse(job), Token(token), at_ms) for job, token, at_ms in _RECORD.iter_unpack(content[:whole])
        ]
