"""Where the embedded server lives: one private directory per user, and every file in it.

    <home>/                 0700, owned by the user
      users.lock            shared lock of each open client; exclusive while the keeper shuts down
      start.lock            held by the one process that is starting a keeper
      keeper.lock           held by the keeper (or by `echomq server`) as long as it lives
      keeper.log            what the keeper did
      server.log            what the server says
      server.pid            written by the server, for people
      valkey.sock           where clients connect, unless the path is too long for a socket
      bin/                  a runnable copy of the binary, only when the installed one cannot be run
      data/                 the append-only file
        server.lock         held by the server process itself: whoever holds it writes the data

Nothing here reads the environment: the caller passes a mapping or a path.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

from echomq.errors import EmbeddedFailed

__all__ = ["SOCKET_PATH_BYTES_MAX", "Layout", "default_home", "refusal", "socket_url"]

SOCKET_PATH_BYTES_MAX = 100
"""Linux allows 107 bytes and macOS 103; the rest is left for temporary names."""

_SHORT_SOCKET_ROOT = Path("/tmp")  # noqa: S108 - fixed on purpose: TMPDIR may differ between two processes of one user


def default_home(environ: Mapping[str, str]) -> Path:
    """Return the state directory that these environment variables ask for.

    `ECHOMQ_HOME` wins; then `XDG_STATE_HOME`/echomq; then the platform's place below `HOME`. Nothing is created.
    """
    if given := environ.get("ECHOMQ_HOME"):
        return Path(given).expanduser()
    if state := environ.get("XDG_STATE_HOME"):
        return Path(state) / "echomq"
    user = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    if sys.platform == "darwin":
        return user / "Library" / "Application Support" / "echomq"
    return user / ".local" / "state" / "echomq"


def socket_url(socket: Path) -> str:
    """Return the `unix://` address of a socket; spaces and non-ASCII bytes are percent-encoded."""
    return "unix://" + quote(os.fsencode(socket))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The files of one server. Make it with `of_home` or `of_data_dir`; `prepare` creates the directories."""

    home: Path
    data: Path
    socket: Path
    private: bool  # True: the home must be closed to everybody else; False: nobody else may write to it

    @classmethod
    def of_home(cls, home: Path, *, socket: Path | None = None) -> Self:
        """Return the layout of a user's state directory."""
        home = _absolute(home)
        return cls(home=home, data=home / "data", socket=_socket_of(home, socket), private=True)

    @classmethod
    def of_data_dir(cls, data: Path, *, socket: Path | None = None) -> Self:
        """Return the layout of a server whose append-only file is to stand in `data`.

        Such a directory is an administrator's, who may let others look into it (a service manager makes it with mode
        755): each file and socket in it is closed to them all the same. Only everybody's writing is refused.
        """
        data = _absolute(data)
        return cls(home=data, data=data, socket=_socket_of(data, socket), private=False)

    @property
    def users_lock(self) -> Path:
        """The lock that every open client shares."""
        return self.home / "users.lock"

    @property
    def start_lock(self) -> Path:
        """The lock of whoever starts a keeper."""
        return self.home / "start.lock"

    @property
    def keeper_lock(self) -> Path:
        """The lock of the process that watches the server."""
        return self.home / "keeper.lock"

    @property
    def server_lock(self) -> Path:
        """The lock of the server process, which is the only writer of the data."""
        return self.data / "server.lock"

    @property
    def keeper_log(self) -> Path:
        """The keeper's log."""
        return self.home / "keeper.log"

    @property
    def server_log(self) -> Path:
        """The server's log."""
        return self.home / "server.log"

    @property
    def pid_file(self) -> Path:
        """The server's process id, for people; no decision rests on it."""
        return self.home / "server.pid"

    def prepare(self) -> None:
        """Create the directories, and refuse those that another user could read or replace.

        Safe to repeat and to run in many processes at once. Raises `EmbeddedFailed` with one sentence.
        """
        _make(self.home, private=self.private)
        if not self.private:
            _refuse_if_anybody_writes(self.home)
        _make(self.data, private=False)
        _make(self.socket.parent, private=self.socket == _sheltered(self.home))


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links and differ between spellings


def _socket_of(home: Path, given: Path | None) -> Path:
    if given is not None:
        given = _absolute(given)
        if len(os.fsencode(given)) > SOCKET_PATH_BYTES_MAX:
            raise EmbeddedFailed(
                f"the socket path {given} is longer than {SOCKET_PATH_BYTES_MAX} bytes, which no socket can have:"
                " give a shorter one"
            )
        return given
    beside = home / "valkey.sock"
    if len(os.fsencode(beside)) <= SOCKET_PATH_BYTES_MAX:
        return beside
    return _sheltered(home)


def _sheltered(home: Path) -> Path:
    """Return a short path in a directory of this user's own, the same in each of the user's processes."""
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return _SHORT_SOCKET_ROOT / f"echomq-{os.geteuid()}-{digest}" / "valkey.sock"


def _make(path: Path, *, private: bool) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat() if private else path.stat()
    except OSError as error:
        raise EmbeddedFailed(
            f"the directory {path} of the embedded server cannot be made ({error.strerror}): set ECHOMQ_HOME to a"
            " directory that you can write"
        ) from error
    if private and (sentence := refusal(path, found, uid=os.geteuid())):
        raise EmbeddedFailed(sentence)
    if not os.access(path, os.W_OK | os.X_OK):
        raise EmbeddedFailed(
            f"the directory {path} of the embedded server is not writable: set ECHOMQ_HOME to a directory that you"
            " can write"
        )


def _refuse_if_anybody_writes(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IWOTH:
        raise EmbeddedFailed(
            f"every user may write to the directory {path} (mode {mode:o}) and could replace"
            " the server's files: run chmod o-w on it, or give another --data-dir"
        )


def refusal(path: Path, found: os.stat_result, *, uid: int) -> str | None:
    """Return why `path` is no private directory of `uid`, or None when it is one."""
    if stat.S_ISLNK(found.st_mode) and found.st_uid == uid:
        found = path.stat()
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is not a directory: move it away, or set ECHOMQ_HOME to another place"
    if found.st_uid != uid:
        return (
            f"the directory {path} belongs to user {found.st_uid} and this process runs as user {uid}: set"
            " ECHOMQ_HOME to a directory of your own"
        )
    if found.st_mode & 0o077:
        return (
            f"the directory {path} is open to other users (mode {stat.S_IMODE(found.st_mode):o}), who could read the"
            " jobs: run chmod 700 on it, or set ECHOMQ_HOME to another place"
        )
    return None
