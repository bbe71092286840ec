"""`echomq server`: the embedded server in the foreground, for a service manager, a container or a terminal.

Without a data directory it serves the user's state directory, so programs without an address join it as they would
join the embedded server, and it stays until it is told to stop. With one it is a server of its own.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from echomq.cli.exits import give_up_output
from echomq.embedded import binary
from echomq.embedded.locks import FileLock
from echomq.embedded.paths import Layout, socket_url
from echomq.embedded.server import Server, bring_up, has_unwritten, relinked, shut_down
from echomq.embedded.settings import Listen
from echomq.embedded.signals import StopRequest, Wake
from echomq.errors import BadInput, EchoMQError, EmbeddedFailed, InvalidOption

__all__ = ["DEFAULT_BIND", "serve"]

DEFAULT_BIND = "127.0.0.1"

_PORT_MAX = 65_535
_LOCK_WAIT_MS = 1_000  # clients look at the lock for moments, which must not turn the server away
_USED_MS = 1_000  # a short command of somebody's is over by then
_UNUSED_MS = 15_000  # the embedded server stops two to three linger times after its last user
_LOOK_EVERY_MS = 50


def serve(
    *,
    home: Path,
    out: TextIO | None = None,
    err: TextIO | None = None,
    port: int | None = None,
    socket: Path | None = None,
    data_dir: Path | None = None,
    bind: str | None = None,
) -> int:
    """Run a server until SIGTERM or SIGINT and return the exit code. Call it in the main thread.

    When the server takes commands, one line with its addresses goes to `out` (default: standard output), separated by a
    space, the unix socket first. Everything else goes to `err` (default: standard error), and the server's log to the
    standard error of the process.

    `home` is the user's state directory (`embedded.default_home`). `data_dir` serves that directory instead, with the
    socket in it unless `socket` is given. Without `port` there is no TCP; with it, only this machine can connect unless
    `bind` (addresses separated by spaces) says otherwise, and then nobody is asked for a password.

    0: stopped as told, everything is on disk. 1: it could not start, ended by itself, or could not write everything.
    2: an argument is impossible.
    """
    say = _sayer(err)
    try:
        listen = _listen(port, bind)
        layout = _layout(home, socket, data_dir)
        if bind is not None and port is not None and bind != DEFAULT_BIND:
            say(f"anybody who reaches {bind} port {port} can read and write every job: there is no password")
        return _hold(layout, listen, out, say)
    except BadInput as error:
        say(str(error))
        return 2
    except EchoMQError as error:
        say(str(error))
        return 1


def _listen(port: int | None, bind: str | None) -> Listen:
    if port is None:
        if bind is not None:
            raise BadInput(f"--bind {bind} is possible only together with a port: give --port too")
        return Listen(log_to_stderr=True)
    if not 1 <= port <= _PORT_MAX:
        raise InvalidOption("port", port, f"1 to {_PORT_MAX}")
    addresses = tuple((DEFAULT_BIND if bind is None else bind).split())
    if not addresses:
        raise InvalidOption("bind", bind, "one or more addresses of this machine, separated by spaces")
    return Listen(port=port, bind=addresses, protected=bind is None, log_to_stderr=True)


def _layout(home: Path, socket: Path | None, data_dir: Path | None) -> Layout:
    if data_dir is None:
        return Layout.of_home(home, socket=socket)
    return Layout.of_data_dir(data_dir, socket=socket)


def _hold(layout: Layout, listen: Listen, out: TextIO | None, say: Callable[[str], None]) -> int:
    """Be the keeper of this layout, so that no other watches or serves it."""
    layout.prepare()
    executable = binary.find(layout.home / "bin")
    with StopRequest() as stop:
        keeper = FileLock.wait(layout.keeper_lock, shared=False, deadline=time.monotonic() + _LOCK_WAIT_MS / 1000)
        if keeper is None:
            keeper = _outlast(layout, stop, say)
        if keeper is None:
            return 0
        try:
            return _run(executable, layout, listen, stop, out, say)
        finally:
            keeper.close()


def _outlast(layout: Layout, stop: StopRequest, say: Callable[[str], None]) -> FileLock | None:
    """Wait until the embedded server stops that nobody uses any more; None when told to stop first.

    Raises `EmbeddedFailed` when somebody uses it, or when it stays all the same: then it is no embedded one.
    """
    runs = f"a server for {layout.data} runs already, on {layout.socket}"
    if not layout.private:  # only the user's own directory has a server that stops by itself
        raise EmbeddedFailed(f"{runs}: use that one, stop it, or give another --data-dir")
    say(f"{runs}: if nobody uses it, it stops within some seconds, and then this one starts")
    last_free = last_used = time.monotonic()
    while not stop.is_set:
        if keeper := FileLock.take(layout.keeper_lock, shared=False):
            return keeper
        now = time.monotonic()
        if _is_used(layout):
            last_used = now
        else:
            last_free = now
        if (now - last_free) * 1000 > _USED_MS:
            raise EmbeddedFailed(
                "other programs use it: end them and it stops by itself within ten seconds, or give another --data-dir"
            )
        if (now - last_used) * 1000 > _UNUSED_MS:
            raise EmbeddedFailed(
                "it does not stop: it is another `echomq server`, or a program without echomq is connected to it. End"
                " that one, or give another --data-dir"
            )
        stop.wait(None, timeout_ms=_LOOK_EVERY_MS)  # a lock gives no signal when it becomes free
    return None


def _is_used(layout: Layout) -> bool:
    """Tell whether a client has a share. A keeper that shuts its server down holds the lock alone: that is no use."""
    alone = FileLock.take(layout.users_lock, shared=False)
    if alone is not None:
        alone.close()
        return False
    shared = FileLock.take(layout.users_lock, shared=True)
    if shared is None:
        return False
    shared.close()
    return True


def _run(
    executable: Path, layout: Layout, listen: Listen, stop: StopRequest, out: TextIO | None, say: Callable[[str], None]
) -> int:
    server = _own_server(executable, layout, listen, stop)
    if server is None:
        return 0
    _print_addresses(layout, listen, sys.stdout if out is None else out)
    while True:
        match stop.wait(server.link, timeout_ms=None):
            case Wake.STOP:
                return _stop(server, layout, say)
            case Wake.SERVER_GONE:
                if (again := relinked(server, layout)) is None:
                    say("the server has ended by itself; its log says why")
                    return 1
                server = again
            case Wake.TIME:
                continue


def _own_server(executable: Path, layout: Layout, listen: Listen, stop: StopRequest) -> Server | None:
    with_log = _stderr_fd()
    server = bring_up(executable, layout, listen, is_stopping=lambda: stop.is_set, log_fd=with_log)
    if server is None or server.child is not None:
        return server
    # Left behind by a keeper or an `echomq server` that was killed. Its settings may be others, so it makes room.
    if refused := shut_down(server, layout):
        raise EmbeddedFailed(f"a server that was left behind on {layout.socket} does not stop: {refused}")
    return bring_up(executable, layout, listen, is_stopping=lambda: stop.is_set, log_fd=with_log)


def _stop(server: Server, layout: Layout, say: Callable[[str], None]) -> int:
    loses = has_unwritten(server)
    if refused := shut_down(server, layout):
        say(f"the server does not stop in good order ({refused}) and is left running")
        return 1
    if loses:
        say(f"the last writes are lost: the server could not write them to {layout.data}; its log says why")
        return 1
    return 0


def _print_addresses(layout: Layout, listen: Listen, out: TextIO | None) -> None:
    addresses = [socket_url(layout.socket)]
    if listen.port:
        host = listen.bind[0].lstrip("-")
        host = DEFAULT_BIND if host == "*" else f"[{host}]" if ":" in host else host
        addresses.append(f"valkey://{host}:{listen.port}")
    if out is None:
        return
    try:
        print(*addresses, file=out, flush=True)
    except (OSError, ValueError):
        # Nobody reads it; the server is there all the same.
        if out is sys.stdout:
            give_up_output()


def _sayer(err: TextIO | None) -> Callable[[str], None]:
    def say(sentence: str) -> None:
        stream = sys.stderr if err is None else err
        if stream is None:
            return
        try:
            print(f"echomq server: {sentence}", file=stream, flush=True)
        except (OSError, ValueError):
            return

    return say


def _stderr_fd() -> int:
    """Return the process's standard error, or the null device when it was closed."""
    try:
        os.fstat(2)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
    return 2
