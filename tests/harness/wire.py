"""A raw line to a server: commands in, replies out, nothing in between.

The referee and the second speaker use it in place of echomq's own connector, so that a fault of the connector cannot
hide a fault of a body.
"""

import select
import socket
from collections.abc import Sequence
from typing import Self

import hiredis

from echomq.resp.reply import ErrorReply, Reply

__all__ = ["Part", "Wire"]

Part = bytes | str | int

_TIMEOUT_S = 60.0


class Wire:
    """One RESP2 connection over a unix socket. An error reply is returned as an `ErrorReply`, not raised."""

    def __init__(self, unix_path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_TIMEOUT_S)
        self._socket.connect(unix_path)
        self._reader = hiredis.Reader(replyError=ErrorReply, notEnoughData=self, errors=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def has_reply(self) -> bool:
        """Whether something lies there to be received. Of what the server says last it may not have come yet."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def ask(self, *parts: Part) -> Reply:
        """Send one command and return its reply."""
        return self.pipeline([parts])[0]

    def pipeline(self, commands: Sequence[Sequence[Part]]) -> list[Reply]:
        """Send commands in one write and return their replies in order."""
        self.send(commands)
        return [self.receive() for _ in commands]

    def send(self, commands: Sequence[Sequence[Part]]) -> None:
        packed = [hiredis.pack_command(tuple(command)) for command in commands]  # type: ignore[arg-type]  # stub: one part
        self._socket.sendall(b"".join(packed))

    def receive(self) -> Reply:
        """Return the next reply or message."""
        while (reply := self._reader.gets()) is self:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the test server closed the connection")
            self._reader.feed(data)
        return reply
