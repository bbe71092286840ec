"""Faults that only many tasks over one link can meet."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from echomq.drivers._aio_link import Link
from echomq.drivers.aio import AioClient
from echomq.errors import Closed, Disconnected, Overloaded, ReadOnly, ReplyTimeout, Unknown
from echomq.options import ConnectionOptions
from tests.faults.connector.peer import Talk, scripted
from tests.servers import RealServer, valkey_server


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with valkey_server() as running:
        yield running


def options(url: str, **more: int) -> ConnectionOptions:
    return ConnectionOptions(url=url, reconnect_first_ms=1, reconnect_last_ms=20, **more)  # type: ignore[arg-type]


async def outcome(task: "asyncio.Future[object]") -> object:
    """What a task ended with."""
    try:
        return await task
    except Exception as error:
        return error


async def test_a_cancelled_task_does_not_shift_the_replies_of_others(server: RealServer) -> None:
    async with await AioClient.connect(options(server.url)) as client:
        tasks = [asyncio.create_task(client.command("ECHO", str(number))) for number in range(100)]
        await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for number, got in enumerate(outcomes):
            if number % 3:
                assert got == b"%d" % number
            else:
                assert isinstance(got, asyncio.CancelledError)
        assert await client.command("ECHO", "after") == b"after"


async def test_a_cancelled_batch_does_not_shift_the_replies_of_others(server: RealServer) -> None:
    async with await AioClient.connect(options(server.url)) as client:
        blocked = asyncio.create_task(client.command("BLPOP", "cancel", "0.05"))
        await asyncio.sleep(0)
        blocked.cancel()
        assert await client.command("ECHO", "after") == b"after"


async def test_a_task_cancelled_while_it_waits_for_a_link_is_forgotten() -> None:
    async with AioClient(options("unix:///nowhere")) as client:
        task = asyncio.create_task(client.command("PING"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_calls_of_one_turn_leave_in_one_write() -> None:
    sizes: list[int] = []

    def measure(talk: Talk) -> None:
        talk.greet()
        command = talk.command()
        sizes.append(len(command))
        talk.send(b"+OK\r\n" * 100)
        for _ in range(99):
            talk.expect(b"ECHO")
        talk.answer()

    with scripted(measure) as peer:
        async with await AioClient.connect(options(peer.url)) as client:
            writes = 0
            link = next(iter(client._nodes.values())).link
            assert link is not None
            assert link.transport is not None
            plain_write = link.transport.write

            def count(data: bytes) -> None:
                nonlocal writes
                writes += 1
                plain_write(data)

            link.transport.write = count  # type: ignore[method-assign, assignment]  # what is counted
            await asyncio.gather(*(client.command("ECHO", str(number)) for number in range(100)))
            assert writes == 1


async def test_a_silent_peer_is_noticed_with_many_calls_in_flight() -> None:
    def fall_silent(talk: Talk) -> None:
        talk.greet()
        talk.wait_for_end()

    with scripted(fall_silent) as peer:
        async with await AioClient.connect(options(peer.url, reply_timeout_ms=100)) as client:
            slow = [asyncio.create_task(client.command("BLPOP", "a", reply_timeout_ms=60_000))]
            await asyncio.sleep(0)
            first = [asyncio.create_task(client.command("PING")) for _ in range(50)]
            got = await asyncio.gather(*first, return_exceptions=True)
            assert type(got[0]) is ReplyTimeout
            # All were sent in one turn of the loop; on a slow machine that turn is longer than the timer is exact.
            assert {type(error) for error in got} <= {ReplyTimeout, Unknown}
            assert type(await outcome(slow[0])) is Unknown, "it was not late itself"


async def test_unsent_calls_of_a_stuffed_link_are_not_called_unknown() -> None:
    stuffed, gone = threading.Event(), threading.Event()

    def read_nothing(talk: Talk) -> None:
        talk.greet()
        stuffed.wait(20)
        talk.reset()

    def refuse(talk: Talk) -> None:
        gone.wait(20)

    with scripted(read_nothing, refuse) as peer:
        async with await AioClient.connect(options(peer.url, reply_timeout_ms=1_000)) as client:
            sent = [asyncio.create_task(client.command("ECHO", b"x" * 1_000_000)) for _ in range(3)]
            link = next(iter(client._nodes.values())).link
            assert link is not None
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert link._is_paused, "three megabytes fill any socket"
            unsent = [asyncio.create_task(client.command("ECHO", "small")) for _ in range(3)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            stuffed.set()
            assert {type(await outcome(task)) for task in sent} == {Unknown}
            kinds = {type(await outcome(task)) for task in unsent}
            assert Unknown not in kinds
            assert all(issubclass(kind, Disconnected) for kind in kinds)
            gone.set()


async def test_one_call_too_many_is_refused_and_the_others_are_answered(server: RealServer) -> None:
    async with await AioClient.connect(options(server.url, in_flight_max=10)) as client:
        got = await asyncio.gather(*(client.command("ECHO", "x") for _ in range(12)), return_exceptions=True)
        assert [reply for reply in got if reply == b"x"] == [b"x"] * 10
        assert [type(error) for error in got if error != b"x"] == [Overloaded] * 2
        assert await client.command("ECHO", "y") == b"y"


async def test_callers_without_a_link_are_bounded_too() -> None:
    async with AioClient(options("unix:///nowhere", in_flight_max=5, reply_timeout_ms=100)) as client:
        got = await asyncio.gather(*(client.command("PING") for _ in range(8)), return_exceptions=True)
    assert sorted(type(error).__name__ for error in got) == ["Disconnected"] * 5 + ["Overloaded"] * 3


async def test_connect_says_at_once_that_nobody_is_there() -> None:
    with pytest.raises(Disconnected, match="nowhere"):
        await AioClient.connect(options("unix:///nowhere", reply_timeout_ms=60_000))


async def test_a_link_that_ends_as_it_becomes_ready_is_never_used(
    server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end comes before the task that made it has run again, so that task must look twice."""
    plain = Link._note_progress
    ended: list[Link] = []

    def end_the_first(link: Link) -> None:
        plain(link)
        if link.ready.done() and not ended:
            ended.append(link)
            link.drop(Disconnected("it ended at once"))

    monkeypatch.setattr(Link, "_note_progress", end_the_first)
    async with AioClient(options(server.url)) as client:
        assert await client.command("ECHO", "a") == b"a"
    assert len(ended) == 1


async def test_a_link_to_a_replica_is_kept_until_its_last_reply_came() -> None:
    replaced = threading.Event()

    def demoted(talk: Talk) -> None:
        talk.greet()
        talk.expect(*[b"ECHO"] * 4)
        talk.send(b"-READONLY no\r\n-READONLY no\r\n:")
        replaced.wait(20)
        talk.send(b"1\r\n-READONLY no\r\n")
        talk.wait_for_end()

    def promoted(talk: Talk) -> None:
        replaced.set()
        talk.serve()

    with scripted(demoted, promoted) as peer:
        async with await AioClient.connect(options(peer.url)) as client:
            got = await asyncio.gather(*(client.command("ECHO", "a") for _ in range(4)), return_exceptions=True)
            assert [type(reply) for reply in got] == [ReadOnly, ReadOnly, int, ReadOnly]
            assert await client.command("ECHO", "b") == b"b"


async def test_closing_releases_those_who_wait_for_a_link() -> None:
    client = AioClient(options("unix:///nowhere", reply_timeout_ms=60_000))
    task = asyncio.create_task(client.command("PING"))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(Closed):
        await task


async def test_closing_does_not_wait_for_a_silent_peer_for_ever() -> None:
    def fall_silent(talk: Talk) -> None:
        talk.greet()
        talk.wait_for_end()

    with scripted(fall_silent) as peer:
        client = await AioClient.connect(options(peer.url, reply_timeout_ms=100))
        task = asyncio.create_task(client.command("PING"))
        await asyncio.sleep(0)
        await client.close()
        assert type(await outcome(task)) is ReplyTimeout


async def test_an_idle_link_is_made_anew_before_anybody_needs_it() -> None:
    again = threading.Event()

    def close(talk: Talk) -> None:
        talk.greet()

    def serve(talk: Talk) -> None:
        again.set()
        talk.serve()

    with scripted(close, serve) as peer:
        async with await AioClient.connect(options(peer.url)):
            assert await asyncio.to_thread(again.wait, 10)


async def test_an_idle_link_that_died_in_silence_is_found_by_ping() -> None:
    again = threading.Event()

    def fall_silent(talk: Talk) -> None:
        talk.greet()
        talk.expect(b"PING")
        talk.wait_for_end()

    def serve(talk: Talk) -> None:
        again.set()
        talk.serve()

    with scripted(fall_silent, serve) as peer:
        async with await AioClient.connect(options(peer.url, ping_interval_ms=20, reply_timeout_ms=50)) as client:
            assert await asyncio.to_thread(again.wait, 10)
            assert await client.command("ECHO", "a", reply_timeout_ms=10_000) == b"a"


async def test_a_subscription_takes_a_bounded_number_of_messages(server: RealServer) -> None:
    async with await AioClient.connect(options(server.url, messages_max=10)) as client:
        payload = b"x" * 100_000
        async with client.subscribe("flood") as messages:
            for _ in range(100):
                await client.command("PUBLISH", "flood", payload)
            for _ in range(100):
                assert (await anext(messages)).payload == payload
                assert len(messages._messages) < 20, "the bound, and what one read may bring beyond it"


async def test_a_reader_of_a_closed_subscription_ends(server: RealServer) -> None:
    async with await AioClient.connect(options(server.url)) as client:
        subscription = client.subscribe("quiet")
        async with subscription:
            reader = asyncio.create_task(anext(subscription))
            await asyncio.sleep(0)
            await client.close()
            with pytest.raises(StopAsyncIteration):
                await reader


def test_a_client_belongs_to_one_loop(server: RealServer) -> None:
    client = AioClient(options(server.url))

    async def use() -> None:
        await client.command("PING")
        await client.close()

    async def use_again() -> None:
        with pytest.raises(Closed):
            await client.command("PING")

    asyncio.run(use())
    asyncio.run(use_again())


def test_another_event_loop_carries_it_too() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def use(own: RealServer) -> None:
        async with await AioClient.connect(options(own.url)) as client:
            replies = await asyncio.gather(*(client.command("ECHO", str(number)) for number in range(300)))
            assert replies == [b"%d" % number for number in range(300)]
            own.restart()
            assert await client.command("ECHO", "b") == b"b"
            async with client.subscribe("a") as messages:
                await client.command("PUBLISH", "a", "x")
                assert (await anext(messages)).payload == b"x"

    with valkey_server() as own, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(use(own))


def test_debug_mode_finds_nothing_to_say(server: RealServer, caplog: pytest.LogCaptureFixture) -> None:
    async def use() -> None:
        async with await AioClient.connect(options(server.url)) as client:
            await asyncio.gather(*(client.command("ECHO", str(number)) for number in range(100)))
            async with client.subscribe("a") as messages:
                await client.command("PUBLISH", "a", "x")
                assert (await anext(messages)).payload == b"x"

    with asyncio.Runner(debug=True) as runner:
        runner.get_loop().slow_callback_duration = 60  # the machine may be slow; that is not what is looked for
        runner.run(use())
    assert [record for record in caplog.records if record.levelname != "DEBUG"] == []
