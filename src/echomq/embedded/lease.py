"""Joining the embedded server, and leaving it: the side of the clients.

Joining takes a share of `users.lock` first, which keeps the server from going away, then makes sure that a keeper lives
(the one who gets `start.lock` starts it, the others wait) and that the server answers.
"""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

from echomq.embedded import binary, logs
from echomq.embedded.locks import POLL_MS, FileLock, is_held
from echomq.embedded.paths import Layout, socket_url
from echomq.embedded.probe import Health, health
from echomq.embedded.starter import start_keeper
from echomq.errors import EchoMQError, EmbeddedFailed, InvalidOption

__all__ = ["LINGER_MS", "START_TIMEOUT_MS", "EmbeddedServer", "acquire"]

START_TIMEOUT_MS = 60_000
"""How long to wait for the server; starting takes a fraction of a second, loading much data longer."""

LINGER_MS = 3_000
"""How long the server outlives its last user at least, so that short commands in a row share one server."""

_LINGER_MS_MIN = 50
_CLOSE_TIMEOUT_MS = 5_000


class EmbeddedServer:
    """A share in the embedded server, which runs as long as anybody holds one.

    Close it when the last connection to the server is closed, or use it as a context manager. A process that ends in
    any way gives up its share too. A forked child shares its parent's: the server stays until both have closed or
    ended.
    """

    __slots__ = ("_layout", "_linger_ms", "_users")

    def __init__(self, layout: Layout, users: FileLock, *, linger_ms: int) -> None:
        self._layout = layout
        self._users: FileLock | None = users
        self._linger_ms = linger_ms

    @property
    def home(self) -> Path:
        """The state directory."""
        return self._layout.home

    @property
    def socket_path(self) -> Path:
        """Where the server listens."""
        return self._layout.socket

    @property
    def url(self) -> str:
        """The address of the server, `unix:///…`, percent-encoded."""
        return socket_url(self._layout.socket)

    def close(self) -> None:
        """Give up the share. Safe to repeat. The server stops by itself when nobody has used it for the linger time."""
        users, self._users = self._users, None
        if users is None:
            return
        try:
            users.touch()
            _leave_a_keeper(self._layout, self._linger_ms)
        finally:
            users.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<EmbeddedServer {self.url}{' closed' if self._users is None else ''}>"


def acquire(home: Path, *, start_timeout_ms: int = START_TIMEOUT_MS, linger_ms: int = LINGER_MS) -> EmbeddedServer:
    """Start or join the embedded server of this user and return a share in it. Blocks; in a loop, use a thread.

    All processes with the same `home` get the same server. `linger_ms` counts for whoever starts it. Raises
    `EmbeddedUnavailable` when this platform or installation has no server, and `EmbeddedFailed` when it did not start
    within `start_timeout_ms` or not at all, with the end of its log. Both are safe to repeat.
    """
    if linger_ms < _LINGER_MS_MIN:
        raise InvalidOption("linger_ms", linger_ms, f"{_LINGER_MS_MIN} or more")
    if start_timeout_ms <= 0:
        raise InvalidOption("start_timeout_ms", start_timeout_ms, "1 or more")
    binary.require_package()
    layout = Layout.of_home(home)
    layout.prepare()
    deadline = time.monotonic() + start_timeout_ms / 1000
    users = FileLock.wait(layout.users_lock, shared=True, deadline=deadline)
    if users is None:
        raise EmbeddedFailed(
            f"the embedded server in {layout.home} is shutting down and did not end within {start_timeout_ms} ms: look"
            f" at {layout.keeper_log}"
        )
    try:
        users.touch()
        _join(layout, deadline, linger_ms)
    except BaseException:
        users.close()
        raise
    return EmbeddedServer(layout, users, linger_ms=linger_ms)


def _join(layout: Layout, deadline: float, linger_ms: int) -> None:
    while True:
        if is_held(layout.keeper_lock):
            if (found := health(layout.socket)) is Health.READY:
                return
        else:
            found = Health.ABSENT
            _start_once(layout, deadline, linger_ms)
        if time.monotonic() >= deadline:
            raise _late(layout, found)
        time.sleep(POLL_MS / 1000)


def _start_once(layout: Layout, deadline: float, linger_ms: int) -> None:
    """Start a keeper, unless somebody else is about to."""
    start = FileLock.take(layout.start_lock, shared=False)
    if start is None:
        return
    try:
        if not is_held(layout.keeper_lock):
            start_keeper(layout, deadline=deadline, linger_ms=linger_ms)
    finally:
        # Explicitly, for a child that another thread forked in the meantime holds a share.
        start.release()


def _leave_a_keeper(layout: Layout, linger_ms: int) -> None:
    # If the keeper was killed, the server would outlive its last user for ever. Without a server nothing is to be done.
    try:
        if not is_held(layout.keeper_lock) and health(layout.socket) is not Health.ABSENT:
            _start_once(layout, time.monotonic() + _CLOSE_TIMEOUT_MS / 1000, linger_ms)
    except EchoMQError as error:
        logs.note(layout.keeper_log, f"no keeper could be left behind: {error}")


def _late(layout: Layout, found: Health) -> EmbeddedFailed:
    if found is Health.LOADING:
        return EmbeddedFailed(
            f"the embedded server in {layout.home} is still loading its data: give it more time with start_timeout_ms"
        )
    return EmbeddedFailed(
        f"the embedded server in {layout.home} does not answer; the end of {layout.keeper_log}:"
        f"\n{logs.tail(layout.keeper_log)}"
    )
