"""A server that follows a script to the byte, for faults that no real server makes on demand.

Each connection is handled by the next function of the script, and further ones by the last. It runs in a thread, so
both drivers can talk to it, and what it meets that it does not expect fails the test at the end.
"""

import contextlib
import socket
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import hiredis

from echomq.transitions._bodies import body_of
from echomq.transitions.enqueue import TRANSITION

__all__ = ["HELLO", "SHA1", "VERSION", "Peer", "Script", "Talk", "scripted"]

HELLO = b"%1\r\n$5\r\nproto\r\n:3\r\n"
# The peer's module, and the number of the connection.
HELLO_OF_MODULE = (
    b"%3\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:7\r\n"
    b"$7\r\nmodules\r\n*1\r\n%2\r\n$4\r\nname\r\n$6\r\nechomq\r\n$3\r\nver\r\n:1\r\n"
)
VERSION = b"$12\r\nechomq:2.4.2\r\n"
SHA1 = body_of(TRANSITION).sha1
_PATIENCE_S = 20.0


class Talk:
    """One connection, seen from the server."""

    def __init__(self, peer: socket.socket) -> None:
        self._socket = peer
        self._reader = hiredis.Reader()
        peer.settimeout(_PATIENCE_S)

    def command(self) -> list[bytes]:
        """Wait for one whole command."""
        while (words := self._reader.gets()) is False:
            data = self._socket.recv(65536)
            if not data:
                raise EOFError
            self._reader.feed(data)
        assert isinstance(words, list)
        return words

    def expect(self, *names: bytes) -> None:
        """Wait for commands of these names, in this order."""
        for name in names:
            words = self.command()
            assert words[0] == name, f"expected {name!r}, got {words!r:.200}"

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def greet(self, *, module: bool = False) -> None:
        """Play the ordinary greeting."""
        self.expect(b"HELLO")
        self.send(HELLO_OF_MODULE if module else HELLO)
        self.expect(b"GET")
        self.send(VERSION)

    def load(self) -> None:
        """Take the script of the first enqueue of a connection."""
        self.expect(b"SCRIPT")
        self.send(b"$40\r\n%b\r\n" % SHA1)

    def serve(self) -> None:
        """Greet, then answer everything as if all went well, until the client goes away."""
        self.greet()
        self.answer()

    def answer(self) -> None:
        """Answer everything as if all went well, until the client goes away."""
        with contextlib.suppress(EOFError):
            while True:
                match self.command():
                    case [b"EVALSHA" | b"EVAL", *_]:
                        self.send(b":1\r\n")
                    case [b"SCRIPT", *_]:
                        self.send(b"$40\r\n%b\r\n" % SHA1)
                    case [b"ECHO", word]:
                        self.send(b"$%d\r\n%b\r\n" % (len(word), word))
                    case _:
                        self.send(b"+PONG\r\n")

    def wait_for_end(self) -> None:
        """Read and answer nothing until the client closes."""
        with contextlib.suppress(EOFError, ConnectionResetError):
            while True:
                self.command()

    def reset(self) -> None:
        """Break the connection off with a TCP reset."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Script = Callable[[Talk], None]


class Peer:
    """The scripted server. `connections` counts how many were made."""

    def __init__(self, listener: socket.socket, url: str, scripts: tuple[Script, ...]) -> None:
        self.url = url
        self.connections = 0
        self.failures: list[BaseException] = []
        self._listener = listener
        self._scripts = scripts
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def stop(self) -> None:
        """End the listener, wait for the connections, and raise what a script met."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        for thread in self._threads:
            thread.join()
        self._listener.close()
        if self.failures:
            raise self.failures[0]

    def wait_for_first(self) -> None:
        """Return when the first connection has been closed from here."""
        self._threads[0].join(_PATIENCE_S)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            thread = threading.Thread(target=self._follow, args=(script, connection))
            self._threads.append(thread)
            thread.start()

    def _follow(self, script: Script, connection: socket.socket) -> None:
        with connection:
            try:
                script(Talk(connection))
            except (EOFError, ConnectionError):
                pass  # the client went away, which each test judges from its own side
            except BaseException as error:
                self.failures.append(error)


@contextlib.contextmanager
def scripted(*scripts: Script, tcp: bool = False) -> Iterator[Peer]:
    """Run a scripted server. The client must be closed before it ends."""
    with tempfile.TemporaryDirectory(prefix="emq-") as directory:
        if tcp:
            listener = socket.create_server(("127.0.0.1", 0))
            url = f"valkey://127.0.0.1:{listener.getsockname()[1]}"
        else:
            path = str(Path(directory) / "s")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen()
            url = f"unix://{path}"
        peer = Peer(listener, url, scripts)
        try:
            yield peer
        finally:
            peer.stop()
