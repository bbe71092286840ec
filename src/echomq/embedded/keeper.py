"""The keeper: a small detached process that owns the embedded server of one user.

    starting -> watching -> (nobody for the linger time) -> shutting down -> gone
                   |  ^
     server died   v  |  started again, later each time
               restarting -> gave up

A user is whoever shares `users.lock`. Once per linger time the keeper tries to take that lock alone. If it can, and
could the time before, and nobody came and went in between (the file's time is unchanged), and nobody else is connected,
then nobody uses the server. It keeps the lock while the server shuts down, so whoever comes now waits for the end and
starts a new keeper: nobody is ever handed a server that is going away.

The keeper may be killed: the server goes on, and the next client to come or to leave starts a keeper that takes
it over. It is run as `python -m echomq.embedded.keeper` and tells the process that started it one line of JSON on
its standard output: ready, taken (another keeper lives), unavailable or failed.
"""

import argparse
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from echomq.embedded import binary, logs
from echomq.embedded.locks import FileLock
from echomq.embedded.paths import Layout
from echomq.embedded.probe import field_of
from echomq.embedded.server import Server, bring_up, has_unwritten, relinked, shut_down
from echomq.embedded.settings import Listen
from echomq.embedded.signals import StopRequest, Wake
from echomq.errors import EchoMQError, EmbeddedUnavailable

__all__ = ["Keeper", "main"]

RESTARTS_MAX = 8
"""Restarts in a row before the keeper gives up; `HEALTHY_MS` without one starts a new row."""

HEALTHY_MS = 60_000
RESTART_DELAY_FIRST_MS = 50
RESTART_DELAY_MAX_MS = 5_000

_LOCK_WAIT_MS = 5_000  # others look at the lock for moments, which must not turn a starting keeper away


class Keeper:
    """Keeps one server running while it is used. `run` returns when it has stopped, or was given up."""

    def __init__(self, layout: Layout, lock: FileLock, stop: StopRequest, *, linger_ms: int) -> None:
        self._layout = layout
        self._lock = lock
        self._stop = stop
        self._linger_ms = linger_ms
        self._listen = Listen()
        self._free_stamp_ns: int | None = None  # the time of users.lock when it was last found free
        self._restarts = 0
        self._up_since = 0.0

    def run(self, started: Callable[[], None]) -> None:
        """Start the server, call `started`, and watch until nobody uses it. Raises what a first start raises."""
        server = self._bring_up()
        if server is not None:
            started()
        while server is not None:
            match self._stop.wait(server.link, timeout_ms=self._linger_ms):
                case Wake.SERVER_GONE:
                    server = relinked(server, self._layout)
                    if server is None:
                        self._note("the server has gone")
                        server = self._restart()
                case Wake.STOP:
                    self._note("told to stop")
                    if self._stopped(server) is not None:
                        self._note("the server is left running without a keeper")
                    return
                case Wake.TIME:
                    server = self._tick(server)

    def _bring_up(self) -> Server | None:
        executable = binary.find(self._layout.home / "bin")
        server = bring_up(executable, self._layout, self._listen, is_stopping=lambda: self._stop.is_set)
        self._up_since = time.monotonic()
        if server is not None:
            self._note("took over a running server" if server.child is None else f"started server {server.child.pid}")
        return server

    def _restart(self) -> Server | None:
        """Start the server again after its death; None when told to stop or when it fails for good."""
        if (time.monotonic() - self._up_since) * 1000 > HEALTHY_MS:
            self._restarts = 0
        while self._restarts < RESTARTS_MAX:
            delay_ms = min(RESTART_DELAY_FIRST_MS << self._restarts, RESTART_DELAY_MAX_MS)
            self._restarts += 1
            if self._stop.wait(None, timeout_ms=delay_ms) is Wake.STOP:
                return None
            try:
                return self._bring_up()
            except EchoMQError as error:
                self._note(f"restart {self._restarts} of {RESTARTS_MAX} failed: {error}")
        self._note(f"gave up after {RESTARTS_MAX} restarts; the next client to come tries again")
        return None

    def _tick(self, server: Server) -> Server | None:
        logs.rotate(self._layout.server_log)
        if not self._lock.is_current():
            self._note("the state directory was removed")
            return self._stopped(server)
        if not self._layout.socket.exists():
            # Its clients go on, but nobody could come any more: a new server makes a new socket.
            self._note("the socket was removed, so the server is started again")
            return server if self._stopped(server) is not None else self._restart()
        return self._stop_if_unused(server)

    def _stop_if_unused(self, server: Server) -> Server | None:
        users = FileLock.take(self._layout.users_lock, shared=False)
        if users is None:
            self._free_stamp_ns = None
            return server
        try:
            before, self._free_stamp_ns = self._free_stamp_ns, users.stamp_ns()
            if before != self._free_stamp_ns or _has_clients(server):
                return server
            if has_unwritten(server):
                # The server tries again each second, and it stops as soon as there is room.
                self._note("nobody uses the server, but it cannot write its data to the disk and therefore stays")
                return server
            self._note("nobody uses the server")
            server_left = self._stopped(server)
            if server_left is None:
                # Whoever gets the users' lock next must find no keeper.
                self._lock.release()
            return server_left
        finally:
            users.release()

    def _stopped(self, server: Server) -> Server | None:
        """Shut the server down; return it when it could not be."""
        if refused := shut_down(server, self._layout):
            self._note(f"the server does not stop: {refused}")
            return server
        self._note("the server has stopped")
        return None

    def _note(self, line: str) -> None:
        logs.note(self._layout.keeper_log, line)


def _has_clients(server: Server) -> bool:
    """Tell whether anybody but the keeper is connected: speakers in other languages hold no lock."""
    try:
        report = server.link.call("INFO", "clients", "replication")
    except OSError:
        return True
    return sum(int(field_of(report, name) or 0) for name in ("connected_clients", "connected_slaves")) > 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Detach from the process that started this one, and keep the server of `--home`."""
    parser = argparse.ArgumentParser(prog="python -m echomq.embedded.keeper")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--linger-ms", type=int, required=True)
    options = parser.parse_args(arguments)
    if os.fork() > 0:
        # The one who started us waits for this end, and no child of it is left that it would have to collect.
        os._exit(0)
    os.setsid()
    os.umask(0o077)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whatever the thread that started us had blocked
    return _keep(Layout.of_home(options.home), linger_ms=options.linger_ms)


def _keep(layout: Layout, *, linger_ms: int) -> int:
    lock = FileLock.wait(layout.keeper_lock, shared=False, deadline=time.monotonic() + _LOCK_WAIT_MS / 1000)
    if lock is None:
        _tell("taken")
        return 0
    with StopRequest() as stop:
        try:
            Keeper(layout, lock, stop, linger_ms=linger_ms).run(started=lambda: _tell("ready"))
        except EmbeddedUnavailable as error:
            logs.note(layout.keeper_log, str(error))
            _tell("unavailable", str(error))
        except EchoMQError as error:
            logs.note(layout.keeper_log, str(error))
            _tell("failed", str(error))
    return 0


def _tell(outcome: str, text: str = "") -> None:
    # The other end may be dead. Afterwards nobody listens, and a held pipe would look like unfinished output.
    with contextlib.suppress(OSError):
        os.write(1, json.dumps({"outcome": outcome, "text": text}).encode() + b"\n")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.close(nowhere)


if __name__ == "__main__":
    raise SystemExit(main())
