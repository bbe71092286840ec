import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from echomq.embedded.probe import Health, Link, field_of, health
from echomq.errors import ProtocolError

Peer = Callable[[bytes], Path]


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    """A peer that answers the first thing it hears with given bytes, one at a time, and hangs up."""
    threads: list[threading.Thread] = []

    def start(answer: bytes) -> Path:
        path = tmp_path / "s"
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            with listening, listening.accept()[0] as connection:
                connection.recv(1000)
                with contextlib.suppress(OSError):  # who has heard enough may hang up
                    for byte in answer:
                        connection.sendall(bytes([byte]))

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return path

    yield start
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"+PONG\r\n", Health.READY),
        (b"-LOADING Valkey is loading the dataset in memory\r\n", Health.LOADING),
        (b"-NOAUTH Authentication required.\r\n", Health.READY),
        (b"+PO", Health.ABSENT),
        (b"", Health.ABSENT),
    ],
)
def test_health_is_what_the_answer_to_a_ping_says(peer: Peer, answer: bytes, expected: Health) -> None:
    assert health(peer(answer)) is expected


def test_nobody_there_is_absent(tmp_path: Path) -> None:
    assert health(tmp_path / "none") is Health.ABSENT
    (tmp_path / "stale").touch()
    assert health(tmp_path / "stale") is Health.ABSENT


def test_a_peer_that_breaks_resp_is_named(peer: Peer) -> None:
    with Link.open(peer(b"HTTP/1.1 400 Bad Request\r\n")) as link, pytest.raises(ProtocolError, match="broke RESP"):
        link.call("PING")


def test_an_answer_that_does_not_come_is_a_timeout(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        with Link.open(tmp_path / "s") as link, pytest.raises(TimeoutError):
            link.call("PING", timeout_ms=20)


def test_a_value_is_read_from_a_report() -> None:
    report = "# Clients\r\nconnected_clients:3\r\nconnected_slaves:1\r\n"
    assert field_of(report, "connected_clients") == "3"
    assert field_of(report, "clients") == ""
