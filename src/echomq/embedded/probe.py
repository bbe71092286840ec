"""A minimal exchange with a server over its unix socket: is it ready, who is there, shut down.

It keeps the embedded server free of the drivers, which may ask for an embedded server themselves. Blocking, one
command at a time, parsed and packed by hiredis.
"""

import contextlib
import enum
import socket
import time
from pathlib import Path
from typing import Self

import hiredis

from echomq.errors import ProtocolError

__all__ = ["EXCHANGE_TIMEOUT_MS", "Health", "Link", "field_of", "health"]

EXCHANGE_TIMEOUT_MS = 2_000
"""How long one answer of a server on the same machine may take."""


class Health(enum.Enum):
    """What a look at the socket found."""

    READY = "ready"
    LOADING = "loading"
    ABSENT = "absent"


class Link:
    """An open connection. Any `OSError` from a method means that it is gone; `close` it then."""

    __slots__ = ("_reader", "_socket")

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._reader = hiredis.Reader(encoding="utf-8", errors="replace")

    @classmethod
    def open(cls, path: Path) -> Self:
        """Connect. `OSError` when nobody listens."""
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connecting.settimeout(EXCHANGE_TIMEOUT_MS / 1000)  # a stopped server's queue of connections can be full
            connecting.connect(str(path))
        except BaseException:
            connecting.close()
            raise
        return cls(connecting)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, *words: str, timeout_ms: int = EXCHANGE_TIMEOUT_MS) -> object:
        """Send one command and return its reply; an error reply is returned as `hiredis.ReplyError`."""
        deadline = time.monotonic() + timeout_ms / 1000
        self._socket.settimeout(timeout_ms / 1000)
        self._socket.sendall(hiredis.pack_command(words))  # type: ignore[arg-type]  # the stub knows tuples of one only
        while (reply := self._next()) is False:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            received = self._socket.recv(65536)
            if not received:
                raise ConnectionResetError("the server closed the connection")
            self._reader.feed(received)
        return reply

    def fileno(self) -> int:
        """Return the socket, for `select`: between calls it is readable only when the server has gone."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection. Safe to repeat."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _next(self) -> object:
        try:
            return self._reader.gets()
        except hiredis.ProtocolError as error:
            raise ProtocolError(
                f"the embedded server broke RESP ({error}): is another program on its socket?"
            ) from error


def health(path: Path) -> Health:
    """Look whether the server behind a socket takes commands."""
    try:
        with Link.open(path) as link:
            reply = link.call("PING")
    except OSError:
        return Health.ABSENT
    if isinstance(reply, hiredis.ReplyError):
        return Health.LOADING if str(reply).startswith("LOADING") else Health.READY
    return Health.READY


def field_of(report: object, field: str) -> str:
    """Return a value from an `INFO` report, empty when it is not there."""
    for line in str(report).splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value
    return ""
