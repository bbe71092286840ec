"""Waiting for what can happen to a process that watches a server: told to stop, the server is gone, time is up."""

import contextlib
import enum
import os
import select
import signal
from types import FrameType, TracebackType
from typing import Self

from echomq.embedded.probe import Link

__all__ = ["StopRequest", "Wake"]


class Wake(enum.Enum):
    """Why a wait ended."""

    STOP = "stop"
    SERVER_GONE = "server gone"
    TIME = "time"


class StopRequest:
    """SIGTERM and SIGINT as a flag that can be waited for. A context manager; main thread only.

    The handler writes to a pipe, so a signal that arrives just before the wait ends it too. After the first signal the
    process is about to end, so later ones are ignored from then on, also after the context: a second signal during the
    last steps of an orderly end must not turn it into a killing.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._read, self._write = os.pipe()
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._told)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.is_set else handler)
        os.close(self._read)
        os.close(self._write)

    def wait(self, link: Link | None, *, timeout_ms: int | None) -> Wake:
        """Wait for a signal, for the end of `link`'s server, or for the time, whichever comes first."""
        watched: list[int | Link] = [self._read] if link is None else [self._read, link]
        ready, _, _ = select.select(watched, [], [], None if timeout_ms is None else timeout_ms / 1000)
        if self.is_set:
            return Wake.STOP
        return Wake.SERVER_GONE if link in ready else Wake.TIME

    def _told(self, _number: int, _frame: FrameType | None) -> None:
        self.is_set = True
        with contextlib.suppress(OSError):
            os.write(self._write, b"!")
