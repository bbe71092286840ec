"""Asks that a server keeps: answers, ends that are wanted, links that are cut, refusals, and leaving without a loss."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from echomq.drivers import _aio_recall, aio_parking
from echomq.drivers.aio import AioClient
from echomq.drivers.aio_parking import AioParking
from echomq.errors import Closed, Disconnected, ReplyTimeout, Unknown, WrongType
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Awaited, Paused, Taken
from echomq.transitions.call import Call
from echomq.transitions.enqueue import enqueue
from echomq.transitions.pause import pause
from echomq.transitions.take import BLOCKING, take_blocking
from tests.faults.connector.peer import Talk, scripted
from tests.faults.connector.waiting import blocked
from tests.servers import RealServer, built_module, valkey_server

HOUR_MS = 3_600_000
KEYS = QueueKeys("q")
JOBS = [JobId.of_snowflake(number) for number in range(1, 200)]


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--loadmodule", module) as started:
        yield started


@pytest.fixture
async def client(server: RealServer) -> AsyncIterator[AioClient]:
    async with AioClient(ConnectionOptions(url=server.url, reconnect_first_ms=1)) as opened:
        await opened.command("FLUSHALL")
        yield opened


@pytest.fixture(autouse=True)
async def _in_time(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setattr(_aio_recall, "_GOODBYE_S", 50.0)  # only a silent server costs it
    async with asyncio.timeout(60):
        yield


def an_ask(block_ms: int = HOUR_MS) -> Call[Awaited]:
    return take_blocking(KEYS, lease_ms=60_000, size=1, park_ms=HOUR_MS, block_ms=block_ms)


async def asked(client: AioClient, parking: AioParking) -> "asyncio.Task[Awaited | None]":
    """Ask, and return when the server keeps it."""
    assert await parking.can_ask(BLOCKING, 60_000)
    asking = asyncio.ensure_future(parking.ask(an_ask(), HOUR_MS))
    await blocked(client, 1)
    return asking


def jobs_of(awaited: Awaited | None) -> list[JobId]:
    assert awaited is not None
    return [claimed.job for claimed in awaited.answer.jobs] if isinstance(awaited.answer, Taken) else []


# --- answers --------------------------------------------------------------------------------------------------------


async def test_what_arrives_comes_as_the_answer(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    for job in JOBS[:3]:
        asking = await asked(client, parking)
        await client.run(enqueue(KEYS, job, b"x"))
        assert jobs_of(await asking) == [job]


async def test_when_its_time_is_over_there_is_no_answer(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    assert await parking.can_ask(BLOCKING, 60_000)
    awaited = await parking.ask(an_ask(20), 20)
    assert awaited is not None
    assert (awaited.answer, awaited.may_wait) == (None, True)
    assert awaited.waited_ms >= 20


async def test_a_paused_queue_is_told_when_the_time_is_over(client: AioClient) -> None:
    await client.run(pause(KEYS))
    parking = client.parking(KEYS.wake)
    assert await parking.can_ask(BLOCKING, 60_000)
    awaited = await parking.ask(an_ask(20), 20)
    assert awaited is not None
    assert awaited.answer == Paused()


async def test_a_server_that_lets_nobody_wait_says_so(client: AioClient) -> None:
    await client.command("CONFIG", "SET", "echomq.blocking", "no")
    try:
        parking = client.parking(KEYS.wake)
        assert await parking.can_ask(BLOCKING, 60_000)
        awaited = await parking.ask(an_ask(), HOUR_MS)
    finally:
        await client.command("CONFIG", "SET", "echomq.blocking", "yes")
    assert awaited is not None
    assert (awaited.waited_ms, awaited.may_wait) == (0, False)
    parking.park_only()
    assert not await parking.can_ask(BLOCKING, 60_000)


async def test_an_error_is_raised_and_the_link_goes_on(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    await client.command("SET", KEYS.wake, "no list")
    assert await parking.can_ask(BLOCKING, 60_000)
    with pytest.raises(WrongType):
        await parking.ask(an_ask(), HOUR_MS)
    await client.command("DEL", KEYS.wake)
    asking = await asked(client, parking)
    await client.run(enqueue(KEYS, JOBS[0], b"x"))
    assert jobs_of(await asking) == [JOBS[0]]


@pytest.mark.parametrize("how", ["TIMEOUT", "ERROR"])
async def test_an_operator_who_unblocks_it_ends_the_wait(client: AioClient, how: str) -> None:
    parking = client.parking(KEYS.wake)
    asking = await asked(client, parking)
    listed = await client.command("CLIENT", "LIST")
    assert isinstance(listed, bytes)
    (link,) = [line.split()[0].removeprefix(b"id=") for line in listed.splitlines() if b"cmd=EMQ.TAKE" in line]
    await client.command("CLIENT", "UNBLOCK", link, how)
    awaited = await asking
    assert awaited is not None
    assert awaited.answer is None


# --- ends that are wanted -------------------------------------------------------------------------------------------


async def test_a_wake_has_the_server_answer_at_once(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    asking = await asked(client, parking)
    parking.wake()
    parking.wake()
    assert (awaited := await asking) is not None
    assert awaited.answer is None
    asking = await asked(client, parking)  # on the same link
    await client.run(enqueue(KEYS, JOBS[0], b"x"))
    assert jobs_of(await asking) == [JOBS[0]]


async def test_a_wake_that_comes_to_the_server_before_the_ask_is_repeated(
    client: AioClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    parking = client.parking(KEYS.wake)
    asking = await asked(client, parking)
    unblock, tries = parking._unblock, 0

    async def too_early_at_first(number: int) -> bool:
        nonlocal tries
        tries += 1
        return tries > 2 and await unblock(number)

    monkeypatch.setattr(parking, "_unblock", too_early_at_first)
    parking.wake()
    assert (awaited := await asking) is not None
    assert (awaited.answer, tries) == (None, 3)


async def test_a_wake_loses_nothing_that_is_served_just_then(client: AioClient, server: RealServer) -> None:
    parking = client.parking(KEYS.wake)
    async with AioClient(ConnectionOptions(url=server.url)) as producer:
        for number, job in enumerate(JOBS):
            asking = await asked(client, parking)
            enqueuing = asyncio.ensure_future(producer.run(enqueue(KEYS, job, b"x")))
            for _ in range(number % 5):
                await asyncio.sleep(0)
            parking.wake()
            got = jobs_of(await asking)
            await enqueuing
            assert got == ([] if await client.command("ZREM", KEYS.pending, bytes(job)) == 1 else [job])


async def test_closing_has_the_server_answer_too(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    asking = await asked(client, parking)
    assert await parking.close() is None
    assert (awaited := await asking) is not None
    assert awaited.answer is None
    await blocked(client, 0)
    with pytest.raises(Closed):
        await parking.ask(an_ask(), HOUR_MS)
    with pytest.raises(Closed):
        await parking.can_ask(BLOCKING, 1)


async def test_who_may_not_end_a_wait_closes_the_link_and_is_given_nothing_after_that(
    client: AioClient, server: RealServer
) -> None:
    await client.command("ACL", "SETUSER", "plain", "on", ">secret", "~*", "&*", "+@all", "-client|unblock")
    url = server.url.replace("unix://", "unix://plain:secret@")
    async with AioClient(ConnectionOptions(url=url)) as plain:
        parking = plain.parking(KEYS.wake)
        asking = await asked(client, parking)
        parking.wake()
        with pytest.raises(Unknown, match="the link was lost"):
            await asking
        await blocked(client, 0)
        await client.run(enqueue(KEYS, JOBS[0], b"x"))
        assert await client.command("ZCARD", KEYS.pending) == 1


async def test_a_silent_server_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_aio_recall, "_GOODBYE_S", 0.05)
    module = built_module()
    assert module is not None
    with valkey_server("--loadmodule", module) as server:
        async with AioClient(ConnectionOptions(url=server.url)) as client:
            parking = client.parking(KEYS.wake)
            asking = await asked(client, parking)
            server.freeze()
            try:
                parking.wake()
                with pytest.raises(Unknown):
                    await asking
            finally:
                server.thaw()


# --- links ----------------------------------------------------------------------------------------------------------


async def test_what_a_cut_link_was_given_is_unknown_and_the_next_one_asks_again(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    for _ in range(3):
        asking = await asked(client, parking)
        await client.command("CLIENT", "KILL", "TYPE", "normal")  # but the one that asks
        with pytest.raises(Unknown) as caught:
            await asking
        assert not caught.value.repeatable
    asking = await asked(client, parking)
    await client.run(enqueue(KEYS, JOBS[0], b"x"))
    assert jobs_of(await asking) == [JOBS[0]]


async def test_without_a_link_nothing_is_sent() -> None:
    async with AioClient(ConnectionOptions(url="unix:///nowhere/at.all")) as client:
        parking = client.parking(KEYS.wake)
        assert not await parking.can_ask(BLOCKING, 1)
        waiting = asyncio.ensure_future(parking.can_ask(BLOCKING, HOUR_MS))
        await asyncio.sleep(0)
        parking.wake()
        assert not await waiting
        with pytest.raises(Disconnected, match="was not sent"):
            await parking.ask(an_ask(), HOUR_MS)


async def test_a_server_without_the_module_is_parked_at() -> None:
    with valkey_server() as server:
        async with AioClient(ConnectionOptions(url=server.url)) as client:
            parking = client.parking(KEYS.wake)
            assert not await parking.can_ask(BLOCKING, 60_000)
            await client.command("LPUSH", KEYS.wake, "7")
            assert await parking.park(HOUR_MS) == b"7"


async def test_a_user_who_may_not_take_parks_until_the_next_link(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    await client.command("ACL", "SETUSER", "default", "-emq.take")
    try:
        assert await parking.can_ask(BLOCKING, 60_000)
        assert await parking.ask(an_ask(), HOUR_MS) is None
        assert not await parking.can_ask(BLOCKING, 60_000)
    finally:
        await client.command("ACL", "SETUSER", "default", "+emq.take")
    assert not await parking.can_ask(BLOCKING, 60_000)
    waiting = asyncio.ensure_future(parking.park(HOUR_MS))
    await blocked(client, 1)
    await client.command("CLIENT", "KILL", "TYPE", "normal")
    assert await waiting is None
    assert await parking.can_ask(BLOCKING, 60_000)


async def test_a_module_that_is_older_than_its_waiting_is_parked_at() -> None:
    def older(talk: Talk) -> None:
        talk.greet(module=True)
        talk.expect(b"EMQ.TAKE")
        talk.send(b"-ERR take takes the keys ring pending and the arguments lease_ms size\r\n")
        talk.expect(b"BLPOP")
        talk.send(b"*2\r\n$1\r\nk\r\n$1\r\n3\r\n")
        talk.wait_for_end()

    with scripted(older) as peer:
        async with AioClient(ConnectionOptions(url=peer.url)) as client:
            parking = client.parking(KEYS.wake)
            assert await parking.can_ask(BLOCKING, 60_000)
            assert await parking.ask(an_ask(), HOUR_MS) is None
            assert not await parking.can_ask(BLOCKING, 60_000)
            assert await parking.park(HOUR_MS) == b"3"


async def test_while_the_server_has_a_blpop_nothing_is_asked() -> None:
    is_asked, may_end = threading.Event(), threading.Event()

    def slow(talk: Talk) -> None:
        talk.greet(module=True)
        talk.expect(b"BLPOP")
        is_asked.set()
        may_end.wait(60)
        talk.send(b"*-1\r\n")
        talk.wait_for_end()

    with scripted(slow) as peer:
        async with AioClient(ConnectionOptions(url=peer.url)) as client:
            parking = client.parking(KEYS.wake)
            while not is_asked.is_set():
                assert await parking.park(20) is None
            assert not await parking.can_ask(BLOCKING, 60_000)
            may_end.set()
            while not await parking.can_ask(BLOCKING, 60_000):  # noqa: ASYNC110 - a link tells nobody of its answers
                await asyncio.sleep(0.001)


async def test_a_silent_server_is_given_up_after_the_wait_and_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio_parking, "_SERVER_LATE_MS", 0)

    def silent(talk: Talk) -> None:
        talk.greet(module=True)
        talk.expect(b"EMQ.TAKE")
        talk.wait_for_end()

    with scripted(silent) as peer:
        async with AioClient(ConnectionOptions(url=peer.url, reply_timeout_ms=300)) as client:
            parking = client.parking(KEYS.wake)
            assert await parking.can_ask(BLOCKING, 60_000)
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            with pytest.raises(ReplyTimeout):
                await parking.ask(an_ask(200), 200)
            assert loop.time() - began_s >= 0.5


async def test_a_forked_child_leaves_the_ask_alone(client: AioClient) -> None:
    parking = client.parking(KEYS.wake)
    asking = await asked(client, parking)
    child = os.fork()
    if child == 0:
        try:
            asyncio.events._set_running_loop(None)
            with contextlib.suppress(Closed):
                asyncio.run(parking.ask(an_ask(), HOUR_MS))
                os._exit(1)
            asyncio.run(parking.close())
            os._exit(0)
        finally:
            os._exit(2)
    assert await asyncio.to_thread(os.waitpid, child, 0) == (child, 0)
    await client.run(enqueue(KEYS, JOBS[0], b"x"))
    assert jobs_of(await asking) == [JOBS[0]]
