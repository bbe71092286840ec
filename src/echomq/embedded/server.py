"""Starts a valkey-server, or takes over one that runs already, and stops it without losing anything.

The invariant is that one data directory has one writer. The server process itself holds `data/server.lock`: the lock is
taken before it starts and handed to it as an open file, so the lock ends exactly when the process does, whoever
started it and however it ends. A new server is only started with that lock in hand.
"""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from echomq.embedded import logs
from echomq.embedded.locks import POLL_MS, FileLock
from echomq.embedded.paths import Layout
from echomq.embedded.probe import Health, Link, field_of, health
from echomq.embedded.settings import Listen, server_arguments
from echomq.errors import EmbeddedFailed, EmbeddedUnavailable

__all__ = ["SHUTDOWN_TIMEOUT_MS", "SILENCE_MAX_MS", "Server", "bring_up", "has_unwritten", "relinked", "shut_down"]

SILENCE_MAX_MS = 30_000
"""How long a server may neither answer, nor say that it is loading, nor exit."""

SHUTDOWN_TIMEOUT_MS = 60_000
"""How long a server may take to write out its data and exit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server: an idle connection that ends when it does, and the process if it is ours."""

    link: Link
    child: subprocess.Popen[bytes] | None  # None: another process started it


def bring_up(
    binary: Path, layout: Layout, listen: Listen, *, is_stopping: Callable[[], bool], log_fd: int | None = None
) -> Server | None:
    """Return a server that takes commands; None when `is_stopping` became true first, and then none was left running.

    A server that already writes this data and answers on this socket is taken over. `log_fd` receives what the server
    prints. Raises `EmbeddedFailed` or `EmbeddedUnavailable` with one sentence and the end of the log.
    """
    deadline = time.monotonic() + SILENCE_MAX_MS / 1000
    while not is_stopping():
        if lock := FileLock.take(layout.server_lock, shared=False):
            try:
                return _start(server_arguments(binary, layout, listen), layout, lock, is_stopping, log_fd)
            finally:
                lock.close()
        match health(layout.socket):
            case Health.READY:
                if link := _connected(layout.socket):
                    return Server(link=link, child=None)
            case Health.LOADING:
                deadline = time.monotonic() + SILENCE_MAX_MS / 1000
            case Health.ABSENT:
                _refuse_after(deadline, layout)
        time.sleep(POLL_MS / 1000)
    return None


def has_unwritten(server: Server) -> bool:
    """Tell whether the server holds answered writes that it could not write to disk; they would end with it."""
    try:
        report = server.link.call("INFO", "persistence")
    except OSError:
        return False
    return field_of(report, "aof_last_write_status") == "err"


def relinked(server: Server, layout: Layout) -> Server | None:
    """Return the server with a new connection if only the connection has ended, None if the process has."""
    server.link.close()
    deadline = time.monotonic() + SILENCE_MAX_MS / 1000
    while (lock := FileLock.take(layout.server_lock, shared=False)) is None:
        if link := _connected(layout.socket):
            return replace(server, link=link)
        if time.monotonic() >= deadline:
            return None
        time.sleep(POLL_MS / 1000)
    lock.close()
    if server.child is not None:
        server.child.wait()
    return None


def shut_down(server: Server, layout: Layout) -> str | None:
    """Stop a server after it has written and flushed everything; return None, or why it goes on running."""
    try:
        reply = server.link.call("SHUTDOWN", timeout_ms=SHUTDOWN_TIMEOUT_MS)
    except TimeoutError:
        return f"no end within {SHUTDOWN_TIMEOUT_MS} ms"
    except OSError:
        reply = None
    if reply is not None:
        return str(reply)
    # The lock tells the end of a process that is not our child, too.
    deadline = time.monotonic() + SHUTDOWN_TIMEOUT_MS / 1000
    while (lock := FileLock.take(layout.server_lock, shared=False)) is None:
        if time.monotonic() >= deadline:
            return f"the process did not exit within {SHUTDOWN_TIMEOUT_MS} ms"
        if server.child is not None:
            server.child.poll()
        time.sleep(POLL_MS / 1000)
    lock.close()
    if server.child is not None:
        server.child.wait()
    server.link.close()
    return None


def _refuse_after(deadline: float, layout: Layout) -> None:
    if time.monotonic() < deadline:
        return
    try:
        process = f"process {layout.pid_file.read_text().strip()}"
    except OSError:
        process = "another process"
    raise EmbeddedFailed(
        f"{process} writes the data in {layout.data} and does not answer on {layout.socket}: if it is an"
        " `echomq server` with another --socket, give its address in ECHOMQ_URL, otherwise stop it"
    )


def _start(
    arguments: Sequence[str], layout: Layout, lock: FileLock, is_stopping: Callable[[], bool], log_fd: int | None
) -> Server | None:
    _refuse_foreign(layout.socket)
    logs.rotate(layout.server_log)
    since_bytes = logs.size_bytes(layout.server_log)
    child = _spawn(arguments, layout, lock, log_fd)
    try:
        link = _await_ready(child, layout.socket, is_stopping)
    except BaseException:
        _end(child)
        raise
    if link is not None:
        return Server(link=link, child=child)
    was_running = child.poll() is None
    _end(child)
    if is_stopping():
        return None
    if log_fd is not None:
        raise EmbeddedFailed("the server did not start: its log, which stands above, says why")
    end_of_log = logs.tail(layout.server_log, since_bytes=since_bytes)
    if was_running:
        raise EmbeddedFailed(f"the embedded server was silent for {SILENCE_MAX_MS} ms and was stopped\n{end_of_log}")
    raise EmbeddedFailed(logs.diagnosis(end_of_log, data=layout.data, exit_code=child.returncode))


def _refuse_foreign(socket: Path) -> None:
    # The server removes whatever stands at its socket's path, so that path is checked before it starts.
    if socket.exists() and not socket.is_socket():
        raise EmbeddedFailed(f"{socket} is a file and no socket: move it away or choose another path")
    if health(socket) is not Health.ABSENT:
        raise EmbeddedFailed(f"another server listens on {socket} already: stop it or choose another path")


def _spawn(arguments: Sequence[str], layout: Layout, lock: FileLock, log_fd: int | None) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C in a terminal ends the watcher, which then stops the server in good order.
    with logs.opened(layout.server_log) as log:
        try:
            return subprocess.Popen(  # noqa: S603 - the arguments are ours
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log if log_fd is None else log_fd,
                stderr=subprocess.STDOUT,
                cwd=layout.home,
                pass_fds=(lock.fileno(),),
                start_new_session=True,
                umask=0o077,
            )
        except OSError as error:
            raise EmbeddedUnavailable(
                f"{arguments[0]} cannot be run here ({error}): start a Valkey yourself and give its address in"
                " ECHOMQ_URL"
            ) from error


def _await_ready(child: subprocess.Popen[bytes], socket: Path, is_stopping: Callable[[], bool]) -> Link | None:
    # The server tells nobody that it is ready, so its socket is tried. Loading may take as long as the data needs.
    deadline = time.monotonic() + SILENCE_MAX_MS / 1000
    while child.poll() is None and not is_stopping() and time.monotonic() < deadline:
        match health(socket):
            case Health.READY:
                if link := _connected(socket):
                    return link
            case Health.LOADING:
                deadline = time.monotonic() + SILENCE_MAX_MS / 1000
            case Health.ABSENT:
                pass
        time.sleep(POLL_MS / 1000)
    return None


def _connected(socket: Path) -> Link | None:
    try:
        return Link.open(socket)
    except OSError:
        return None  # it ended between the look and this


def _end(child: subprocess.Popen[bytes]) -> None:
    # SIGTERM first: the server writes its data out. One that does not react is killed.
    child.terminate()
    try:
        child.wait(timeout=SHUTDOWN_TIMEOUT_MS / 1000)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
