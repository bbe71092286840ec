"""What a job of the demo does: read one file, count its bytes and lines, and take its SHA-256.

The payload is the path and the result are the facts, both as MessagePack of a declared shape. The demo reads every file
with the same function in its own process, which no worker has a part in: that is what results are compared with.
"""

import hashlib
import os
from typing import Final, Protocol

import msgspec

from echomq.demo.journal import JournalWriter
from echomq.ids import JobId
from echomq.records import Token

__all__ = ["FileFacts", "FileJob", "FileReader", "Gate", "RunningJob", "decode_facts", "encode_job", "facts_of"]

CHUNK_BYTES: Final = 1024 * 1024
"""How much of a file is in memory at once."""

_CAREFUL: Final = ("O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW")


class FileJob(msgspec.Struct, frozen=True, array_like=True):
    """The payload: which file."""

    path: bytes


class FileFacts(msgspec.Struct, frozen=True, array_like=True):
    """The result. A last line without an end counts as a line. `trouble` says why the file could not be read, if so."""

    size_bytes: int
    lines: int
    sha256: bytes
    trouble: str = ""


class RunningJob(Protocol):
    """What the handler needs of `echomq.worker.Run`."""

    @property
    def job(self) -> JobId: ...  # noqa: D102 - the names say it
    @property
    def token(self) -> Token: ...  # noqa: D102
    @property
    def payload(self) -> bytes | None: ...  # noqa: D102


class Gate(Protocol):
    """Called with the number of jobs that this worker has started; may keep the caller for a moment."""

    def __call__(self, started: int) -> None:
        """Return when the job may go on."""
        ...


class FileReader:
    """The handler of one worker process: notes that it starts the job, reads the file, returns the facts."""

    def __init__(self, journal: JournalWriter, gate: Gate) -> None:
        self._journal = journal
        self._gate = gate

    def handle(self, run: RunningJob) -> bytes:
        """Read the job's file and return its facts. Runs in a thread, several at once."""
        started = self._journal.note(run.job, run.token)
        self._gate(started)
        job = msgspec.msgpack.decode(run.payload or b"", type=FileJob)
        return msgspec.msgpack.encode(facts_of(job.path))


def encode_job(path: bytes) -> bytes:
    """Return the payload of the job for a file."""
    return msgspec.msgpack.encode(FileJob(path))


def decode_facts(result: bytes) -> FileFacts | None:
    """Return the facts of a kept result, or None for bytes that no demo worker wrote."""
    try:
        return msgspec.msgpack.decode(result, type=FileFacts)
    except msgspec.DecodeError:
        return None


def facts_of(path: bytes) -> FileFacts:
    """Read a file in chunks and return its facts. Never raises for a file that cannot be read."""
    size_bytes = lines = 0
    digest = hashlib.sha256()
    last = b"\n"
    try:
        with open(path, "rb", buffering=0, opener=_open) as file:
            while chunk := file.read(CHUNK_BYTES):
                size_bytes += len(chunk)
                lines += chunk.count(b"\n")
                digest.update(chunk)
                last = chunk[-1:]
    except OSError as error:
        return FileFacts(0, 0, b"", error.strerror or type(error).__name__)
    return FileFacts(size_bytes, lines + (last != b"\n"), digest.digest())


def _open(path: str, flags: int) -> int:
    # A file may have become a link or a pipe since it was found: neither is followed, and nobody waits for a writer.
    for name in _CAREFUL:
        flags |= getattr(os, name, 0)
    return os.open(path, flags)
