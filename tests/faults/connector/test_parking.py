"""The parking link: tokens, time-outs, links that are cut, refusals, and leaving without losing a token."""

import asyncio
import os
import threading
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from echomq.drivers import _aio_recall
from echomq.drivers.aio import AioClient
from echomq.drivers.aio_parking import AioParking
from echomq.errors import Closed, NoPermission, UnexpectedReply, WrongType
from echomq.options import ConnectionOptions
from tests.faults.connector.peer import Talk, scripted
from tests.faults.connector.waiting import blocked
from tests.servers import RealServer, valkey_server
from tests.tls import make_certificates, tls_proxy

HOUR_MS = 3_600_000
KEY = b"emq:{q}:wake"


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with valkey_server() as started:
        yield started


@pytest.fixture
async def client(server: RealServer) -> AsyncIterator[AioClient]:
    async with AioClient(ConnectionOptions(url=server.url, reconnect_first_ms=1)) as opened:
        await opened.command("FLUSHALL")
        yield opened


@pytest.fixture(autouse=True)
async def _in_time() -> AsyncIterator[None]:
    async with asyncio.timeout(60):
        yield


@pytest.fixture
def patient_goodbye(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a silent server costs the whole wait, so a slow machine may have it."""
    monkeypatch.setattr(_aio_recall, "_GOODBYE_S", 50.0)


async def parked(client: AioClient, parking: AioParking, wait_ms: float = HOUR_MS) -> "asyncio.Task[bytes | None]":
    waiting = asyncio.ensure_future(parking.park(wait_ms))
    await blocked(client, 1)
    return waiting


async def leave_one_behind(parking: AioParking, is_asked: threading.Event) -> None:
    """Park until the server has a BLPOP that outlives the wait."""
    while not is_asked.is_set():
        assert await parking.park(20) is None


async def test_a_token_ends_the_wait_with_its_text(client: AioClient) -> None:
    parking = client.parking(KEY)
    waiting = await parked(client, parking)
    await client.command("LPUSH", KEY, "17")
    assert await waiting == b"17"
    await client.command("LPUSH", KEY, "5")  # one that lies there already
    assert await parking.park(HOUR_MS) == b"5"
    assert await client.command("EXISTS", KEY) == 0


async def test_the_time_is_kept_although_the_server_looks_at_it_less_often(client: AioClient) -> None:
    parking = client.parking(KEY)
    assert await parking.park(1) is None
    loop = asyncio.get_running_loop()
    shortest_s = 1.0
    for _ in range(20):  # the server alone would take 100 ms for each
        began_s = loop.time()
        assert await parking.park(5) is None
        shortest_s = min(shortest_s, loop.time() - began_s)
    assert 0.005 <= shortest_s < 0.05


async def test_a_wait_goes_on_with_what_an_earlier_one_left_on_the_server() -> None:
    is_asked, parked_again = threading.Event(), threading.Event()

    def slow(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"BLPOP")
        is_asked.set()
        parked_again.wait(60)
        talk.send(b"*2\r\n$1\r\nk\r\n$1\r\n3\r\n")
        with pytest.raises(EOFError):
            talk.command()

    with scripted(slow) as peer:
        async with AioClient(ConnectionOptions(url=peer.url)) as client:
            parking = client.parking(KEY)
            await leave_one_behind(parking, is_asked)
            waiting = asyncio.ensure_future(parking.park(HOUR_MS))
            await asyncio.sleep(0)
            parked_again.set()
            assert await waiting == b"3"


async def test_a_wake_ends_the_wait_at_once_and_its_token_is_held_and_told(client: AioClient) -> None:
    parking = client.parking(KEY)
    held = asyncio.Event()
    parking.when_held(held.set)
    waiting = await parked(client, parking)
    parking.wake()
    assert await waiting is None
    assert not parking.holds_token
    await client.command("LPUSH", KEY, "4")
    await held.wait()
    assert parking.take_held() == b"4"
    assert not parking.holds_token
    parking.wake()  # nobody is parked: nothing happens


async def test_a_wake_ends_the_wait_for_a_link_too() -> None:
    async with AioClient(ConnectionOptions(url="unix:///nowhere/at.all")) as client:
        parking = client.parking(KEY)
        waiting = asyncio.ensure_future(parking.park(HOUR_MS))
        await asyncio.sleep(0)
        parking.wake()
        assert await waiting is None
        assert await parking.park(1) is None


async def test_a_cut_link_is_a_time_out_and_the_next_wait_has_a_new_one(client: AioClient) -> None:
    parking = client.parking(KEY)
    for _ in range(3):
        waiting = await parked(client, parking)
        await client.command("CLIENT", "KILL", "TYPE", "normal")  # but the one that asks
        assert await waiting is None
    waiting = await parked(client, parking)
    await client.command("LPUSH", KEY, "2")
    assert await waiting == b"2"


async def test_a_server_that_restarts_is_parked_at_again() -> None:
    with valkey_server() as server:
        async with AioClient(ConnectionOptions(url=server.url, reconnect_first_ms=1)) as client:
            parking = client.parking(KEY)
            waiting = await parked(client, parking)
            await asyncio.to_thread(server.stop)
            assert await waiting is None
            waiting = asyncio.ensure_future(parking.park(HOUR_MS))
            await asyncio.to_thread(server.start)
            await client.command("LPUSH", KEY, "1")
            assert await waiting == b"1"


async def test_a_silent_server_is_given_up_after_the_wait_and_the_patience() -> None:
    is_asked = threading.Event()

    def silent(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"BLPOP")
        is_asked.set()
        talk.wait_for_end()

    def at_hand(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"BLPOP")
        talk.send(b"*2\r\n$1\r\nk\r\n$1\r\n3\r\n")
        talk.wait_for_end()

    with scripted(silent, at_hand) as peer:
        async with AioClient(ConnectionOptions(url=peer.url, reply_timeout_ms=500, reconnect_first_ms=1)) as client:
            parking = client.parking(KEY)
            await leave_one_behind(parking, is_asked)
            assert await parking.park(HOUR_MS) is None  # the BLPOP of the first wait is never answered
            assert await parking.park(HOUR_MS) == b"3"


async def test_what_the_server_refuses_is_raised_and_the_link_goes_on(client: AioClient) -> None:
    parking = client.parking(KEY)
    await client.command("SET", KEY, "no list")
    with pytest.raises(WrongType):
        await parking.park(HOUR_MS)
    await client.command("DEL", KEY)
    await client.command("ACL", "SETUSER", "default", "-blpop")
    try:
        with pytest.raises(NoPermission):
            await parking.park(HOUR_MS)
    finally:
        await client.command("ACL", "SETUSER", "default", "+blpop")
    await client.command("LPUSH", KEY, "1")
    assert await parking.park(HOUR_MS) == b"1"


async def test_an_operator_who_unblocks_it_does_not_end_the_wait(client: AioClient) -> None:
    parking = client.parking(KEY)
    waiting = await parked(client, parking)
    listed = await client.command("CLIENT", "LIST")
    assert isinstance(listed, bytes)
    (link,) = [line.split()[0].removeprefix(b"id=") for line in listed.splitlines() if b"cmd=blpop" in line]
    assert await client.command("CLIENT", "UNBLOCK", link, "ERROR") == 1
    await client.command("LPUSH", KEY, "1")
    assert await waiting == b"1"


async def test_an_answer_that_is_none_is_raised() -> None:
    def confused(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"BLPOP")
        talk.send(b"+OK\r\n")
        talk.wait_for_end()

    with scripted(confused) as peer:
        async with AioClient(ConnectionOptions(url=peer.url)) as client:
            with pytest.raises(UnexpectedReply):
                await client.parking(KEY).park(HOUR_MS)


@pytest.mark.usefixtures("patient_goodbye")
async def test_closing_is_quick_and_after_it_the_server_gives_it_no_token(client: AioClient) -> None:
    for _ in range(50):
        parking = client.parking(KEY)
        waiting = await parked(client, parking)
        assert await parking.close() is None
        with pytest.raises(Closed):
            await waiting
        assert await parking.close() is None
        with pytest.raises(Closed):
            await parking.park(1)
        await client.command("LPUSH", KEY, "1")
        assert await client.command("LPOP", KEY) == b"1"


@pytest.mark.usefixtures("patient_goodbye")
async def test_a_token_that_comes_as_it_closes_is_returned() -> None:
    is_asked = threading.Event()

    def late(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"BLPOP")
        is_asked.set()
        talk.wait_for_end()
        talk.send(b"*2\r\n$1\r\nk\r\n$2\r\n12\r\n")

    with scripted(late) as peer:
        async with AioClient(ConnectionOptions(url=peer.url)) as client:
            parking = client.parking(KEY)
            await leave_one_behind(parking, is_asked)
            assert await parking.close() == b"12"
            assert await parking.close() is None


@pytest.mark.usefixtures("patient_goodbye")
async def test_a_wait_that_was_just_begun_as_it_closes_is_not_sent_after_the_goodbye() -> None:
    complaints: list[str] = []
    ends_too = threading.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context)))

    def waits(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"BLPOP")
        talk.send(b"*2\r\n$1\r\nk\r\n$1\r\n1\r\n")
        talk.wait_for_end()  # nothing more is sent
        ends_too.wait()

    with scripted(waits) as peer:
        async with AioClient(ConnectionOptions(url=peer.url)) as client:
            parking = client.parking(KEY)
            assert await parking.park(HOUR_MS) == b"1"
            waiting = asyncio.ensure_future(parking.park(HOUR_MS))
            closing = asyncio.ensure_future(parking.close())  # in the turn at whose end the wait would be written
            for _ in range(10):
                await asyncio.sleep(0)
            ends_too.set()
            assert await closing is None
            with pytest.raises(Closed):
                await waiting
    assert complaints == []


async def test_closing_the_client_closes_it(server: RealServer) -> None:
    client = AioClient(ConnectionOptions(url=server.url))
    waiting = await parked(client, client.parking(KEY))
    await client.close()
    with pytest.raises(Closed):
        await waiting
    with pytest.raises(Closed):
        client.parking(KEY)


async def test_a_frozen_server_does_not_hold_up_the_closing() -> None:
    with valkey_server() as server:
        async with AioClient(ConnectionOptions(url=server.url)) as client:
            parking = client.parking(KEY)
            waiting = await parked(client, parking)
            server.freeze()
            try:
                async with asyncio.timeout(20):
                    assert await parking.close() is None
            finally:
                server.thaw()
            with pytest.raises(Closed):
                await waiting


async def test_over_tls_a_token_ends_the_wait_and_closing_is_quick(server: RealServer, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    with tls_proxy(server.unix_path, certificates) as port:
        url = f"valkeys://localhost:{port}?ca_file={certificates.ca}"
        async with AioClient(ConnectionOptions(url=url)) as client:
            parking = client.parking(KEY)
            waiting = await parked(client, parking)
            await client.command("LPUSH", KEY, "9")
            assert await waiting == b"9"
            waiting = await parked(client, parking)
            assert await parking.close() is None
            with pytest.raises(Closed):
                await waiting
            await blocked(client, 0)


async def test_a_forked_child_leaves_the_link_alone(client: AioClient) -> None:
    parking = client.parking(KEY)
    waiting = await parked(client, parking)

    async def in_child() -> None:
        with pytest.raises(Closed):
            await parking.park(1)
        assert await parking.close() is None
        await client.command("PING")
        await client.close()

    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.events._set_running_loop(None)
            asyncio.run(in_child())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert await asyncio.to_thread(os.waitpid, child, 0) == (child, 0)
    await client.command("LPUSH", KEY, "6")
    assert await waiting == b"6"


async def test_a_forked_child_lets_go_of_the_socket(client: AioClient) -> None:
    """Else the server would go on giving it tokens after the end of the parent."""
    parking = client.parking(KEY)
    waiting = await parked(client, parking)
    links = list(parking._node._ending)
    child = os.fork()
    if child == 0:
        try:
            asyncio.events._set_running_loop(None)
            asyncio.run(client.command("PING"))
            nowhere = os.fstat(os.open(os.devnull, os.O_RDWR))
            sockets = [link.transport.get_extra_info("socket") for link in links if link.transport is not None]
            os._exit(0 if [os.fstat(each.fileno()).st_rdev for each in sockets] == [nowhere.st_rdev] else 1)
        finally:
            os._exit(2)
    assert await asyncio.to_thread(os.waitpid, child, 0) == (child, 0)
    await client.command("LPUSH", KEY, "6")
    assert await waiting == b"6"
