"""Faults that only plain threads can meet."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from echomq.drivers.blocking import BlockingClient
from echomq.errors import Disconnected
from echomq.options import ConnectionOptions
from tests.faults.connector.peer import Talk, scripted
from tests.servers import RealServer, valkey_server


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with valkey_server() as running:
        yield running


def test_threads_share_a_client(server: RealServer) -> None:
    wrong: list[object] = []
    with BlockingClient(ConnectionOptions(url=server.url)) as client:

        def work(name: int) -> None:
            for number in range(200):
                text = b"%d-%d" % (name, number)
                if (got := client.command("ECHO", text)) != text:
                    wrong.append(got)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_call_behind_a_long_one_waits_no_longer_than_its_own_time(server: RealServer) -> None:
    with (
        BlockingClient(ConnectionOptions(url=server.url)) as client,
        BlockingClient(ConnectionOptions(url=server.url)) as other,
    ):
        thread = threading.Thread(target=lambda: client.command("BLPOP", "held", 0, reply_timeout_ms=60_000))
        thread.start()
        while not client._lock.locked():
            pass
        with pytest.raises(Disconnected, match="other threads"):
            client.command("PING", reply_timeout_ms=20)
        other.command("RPUSH", "held", "x")
        thread.join()


def test_an_idle_link_that_died_in_silence_is_found_by_ping_before_the_call() -> None:
    def fall_silent(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"PING")
        talk.wait_for_end()

    def serve(talk: Talk) -> None:
        talk.serve()

    options: dict[str, Any] = {"ping_interval_ms": 1, "reply_timeout_ms": 100, "reconnect_first_ms": 1}
    with scripted(fall_silent, serve) as peer:
        with BlockingClient.connect(ConnectionOptions(url=peer.url, **options)) as client:
            time.sleep(0.002)  # the idle time itself is what is tested
            assert client.command("ECHO", "a", reply_timeout_ms=10_000) == b"a"
        assert peer.connections == 2


def test_the_pauses_between_two_connects_grow() -> None:
    pauses: list[float] = []

    class Still:
        def fraction(self) -> float:
            return 0.0

    options = ConnectionOptions(url="unix:///nowhere", reply_timeout_ms=10_000)
    client = BlockingClient(options, dice=Still(), pause=pauses.append)

    def stop_after_seven(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 7:
            raise KeyboardInterrupt

    client._pause = stop_after_seven
    with client, pytest.raises(KeyboardInterrupt):
        client.command("PING")
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


def test_an_exchange_that_is_broken_off_leaves_no_reply_behind(server: RealServer) -> None:
    with BlockingClient(ConnectionOptions(url=server.url)) as client:
        client.command("PING")
        (link,) = client._links.values()
        plain = link._receive

        def interrupted() -> object:
            plain()
            raise KeyboardInterrupt

        link._receive = interrupted  # type: ignore[method-assign, assignment]  # Ctrl-C at the worst moment
        with pytest.raises(KeyboardInterrupt):
            client.command("ECHO", "theirs")
        assert client.command("ECHO", "mine") == b"mine"


def test_a_far_server_is_slept_for() -> None:
    def answer_late(talk: Talk) -> None:
        talk.greet()
        for _ in range(20):
            talk.expect(b"PING")
            time.sleep(0.001)  # the distance itself is what is tested
            talk.send(b"+PONG\r\n")

    with scripted(answer_late) as peer, BlockingClient.connect(ConnectionOptions(url=peer.url)) as client:
        (link,) = client._links.values()
        looked = 0
        plain = link._look_for_reply

        def count() -> None:
            nonlocal looked
            looked += link._sleeps_due == 0
            plain()

        link._look_for_reply = count  # type: ignore[method-assign]  # what is counted
        for _ in range(20):
            client.command("PING")
    assert looked <= 5, "one, three, seven, fifteen calls are slept for in between"


def test_a_call_gives_up_connecting_to_a_silent_server_when_its_own_time_is_over(server: RealServer) -> None:
    options = ConnectionOptions(url=server.url, connect_timeout_ms=60_000, reply_timeout_ms=60_000)
    with BlockingClient(options) as client:
        server.freeze()
        try:
            with pytest.raises(Disconnected, match="within"):
                client.command("PING", reply_timeout_ms=100)
        finally:
            server.thaw()
        assert client.command("PING") == b"PONG"
