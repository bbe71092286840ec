"""The keeper's decision to stop, with a server that is played: the real one shuts down too fast to be looked at."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from echomq.embedded.keeper import Keeper
from echomq.embedded.locks import FileLock, is_held
from echomq.embedded.paths import Layout
from echomq.embedded.probe import Link
from echomq.embedded.server import Server
from echomq.embedded.signals import StopRequest

_CALM = {"connected_clients": "1", "connected_slaves": "0", "aof_last_write_status": "ok"}


class PlayedServer:
    """Answers INFO with what it is given and hangs up at SHUTDOWN, looking at the users' lock when it does."""

    def __init__(self, layout: Layout, connection: socket.socket) -> None:
        self.info = dict(_CALM)
        self.refusal = b""
        self.was_locked: bool | None = None
        self._layout = layout
        self._connection = connection
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        with self._connection as connection:
            while heard := connection.recv(1_000):
                if b"SHUTDOWN" not in heard:
                    report = "".join(f"{name}:{value}\r\n" for name, value in self.info.items()).encode()
                    connection.sendall(b"$%d\r\n%b\r\n" % (len(report), report))
                elif self.refusal:
                    connection.sendall(self.refusal)
                else:
                    self.was_locked = is_held(self._layout.users_lock)
                    return


Played = tuple[PlayedServer, Server]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout.of_home(tmp_path / "home")
    made.prepare()
    return made


@pytest.fixture
def played(layout: Layout) -> Iterator[Played]:
    ours, theirs = socket.socketpair()
    playing = PlayedServer(layout, theirs)
    server = Server(link=Link(ours), child=None)
    yield playing, server
    server.link.close()
    playing.thread.join()


@pytest.fixture
def keeper(layout: Layout) -> Iterator[Keeper]:
    lock = FileLock.take(layout.keeper_lock, shared=False)
    assert lock is not None
    with StopRequest() as stop:
        yield Keeper(layout, lock, stop, linger_ms=100)
    lock.close()


def test_nobody_can_join_while_the_server_shuts_down(keeper: Keeper, layout: Layout, played: Played) -> None:
    playing, server = played
    assert keeper._stop_if_unused(server) is server, "one look is not yet the linger time"
    assert keeper._stop_if_unused(server) is None
    playing.thread.join()
    assert playing.was_locked is True
    assert not is_held(layout.keeper_lock)
    assert not is_held(layout.users_lock)


def test_whoever_came_and_went_between_two_looks_starts_the_linger_time_again(
    keeper: Keeper, layout: Layout, played: Played
) -> None:
    _, server = played
    assert keeper._stop_if_unused(server) is server
    user = FileLock.take(layout.users_lock, shared=True)
    assert user is not None
    user.touch()
    user.close()
    assert keeper._stop_if_unused(server) is server
    assert keeper._stop_if_unused(server) is None


def test_a_user_at_any_look_starts_the_linger_time_again(keeper: Keeper, layout: Layout, played: Played) -> None:
    _, server = played
    assert keeper._stop_if_unused(server) is server
    user = FileLock.take(layout.users_lock, shared=True)
    assert user is not None
    assert keeper._stop_if_unused(server) is server
    user.close()
    assert keeper._stop_if_unused(server) is server
    assert keeper._stop_if_unused(server) is None


@pytest.mark.parametrize(
    "info", [{"connected_clients": "2"}, {"connected_slaves": "1"}, {"aof_last_write_status": "err"}]
)
def test_a_stranger_a_replica_or_unwritten_data_keep_the_server(
    keeper: Keeper, layout: Layout, played: Played, info: dict[str, str]
) -> None:
    playing, server = played
    playing.info |= info
    for _ in range(5):
        assert keeper._stop_if_unused(server) is server
        assert not is_held(layout.users_lock), "whoever comes meanwhile must not wait"
    playing.info |= _CALM
    assert keeper._stop_if_unused(server) is None


def test_a_server_that_refuses_to_shut_down_is_kept(keeper: Keeper, layout: Layout, played: Played) -> None:
    playing, server = played
    playing.refusal = b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
    keeper._stop_if_unused(server)
    assert keeper._stop_if_unused(server) is server
    assert "Errors trying to SHUTDOWN" in layout.keeper_log.read_text()
    assert is_held(layout.keeper_lock)
    playing.refusal = b""
    assert keeper._stop_if_unused(server) is None
