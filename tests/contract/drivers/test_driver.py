"""What both drivers promise, on a real server."""

import asyncio
import itertools
import threading
from collections.abc import Iterator

import pytest

from echomq.errors import (
    AuthRefused,
    BootRefused,
    Closed,
    Disconnected,
    EchoMQError,
    ReadOnly,
    ReplyTimeout,
    RequiresResp3,
    ServerError,
    VersionFence,
    WrongType,
)
from echomq.ids import JobId
from echomq.keys import VERSION, QueueKeys
from echomq.records import Duplicate, Enqueued
from echomq.transitions.call import Call
from echomq.transitions.enqueue import TRANSITION, enqueue
from tests.contract.drivers.speakers import Kind, refusal_of, speaking
from tests.servers import RealServer, free_port, valkey_server

KEYS = QueueKeys("drivers")
_numbers = itertools.count(1)


def jobs(count: int) -> list[JobId]:
    return [JobId.of_snowflake(next(_numbers)) for _ in range(count)]


@pytest.fixture(params=["unix", "tcp"])
def url(server: RealServer, request: pytest.FixtureRequest) -> str:
    return server.url if request.param == "unix" else server.tcp_url


class TestCalls:
    async def test_a_call_is_answered(self, kind: Kind, url: str) -> None:
        (job,) = jobs(1)
        async with speaking(kind, url) as client:
            assert await client.run(enqueue(KEYS, job, b"x")) == Enqueued(job)
            assert await client.run(enqueue(KEYS, job, b"x")) == Duplicate(job)

    async def test_a_batch_is_answered_in_order(self, kind: Kind, url: str) -> None:
        many = jobs(300)
        async with speaking(kind, url) as client:
            answers = await client.run_all([enqueue(KEYS, job, b"x" * 1000) for job in many])
        assert answers == [Enqueued(job) for job in many]

    async def test_a_batch_beyond_the_bound_goes_in_parts(self, kind: Kind, server: RealServer) -> None:
        many = jobs(25)
        async with speaking(kind, server.url, in_flight_max=10) as client:
            assert await client.run_all([enqueue(KEYS, job, b"x") for job in many]) == [Enqueued(job) for job in many]

    async def test_an_empty_batch_sends_nothing(self, kind: Kind) -> None:
        async with speaking(kind, "unix:///nowhere") as client:
            assert await client.run_all([]) == []

    async def test_a_refused_call_of_a_batch_leaves_its_neighbours_alone(self, kind: Kind, server: RealServer) -> None:
        first, broken, last = jobs(3)
        async with speaking(kind, server.url) as client:
            await client.command("SET", KEYS.job(broken), "no row")
            answers = await client.run_all([enqueue(KEYS, job, b"x") for job in (first, broken, last)])
        assert [answers[0], answers[2]] == [Enqueued(first), Enqueued(last)]
        assert isinstance(answers[1], ServerError | Duplicate)

    async def test_many_callers_get_their_own_answers(self, kind: Kind, url: str) -> None:
        async with speaking(kind, url) as client:
            replies = await asyncio.gather(*(client.command("ECHO", str(number)) for number in range(200)))
        assert replies == [b"%d" % number for number in range(200)]

    async def test_a_large_reply_arrives_whole(self, kind: Kind, url: str) -> None:
        payload = bytes(range(256)) * 40_000
        async with speaking(kind, url) as client:
            assert await client.command("ECHO", payload) == payload

    async def test_an_error_reply_is_raised_by_its_word(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, server.url) as client:
            with pytest.raises(WrongType, match=r"HGET of \{emq\}:version"):
                await client.command("HGET", VERSION, "x")
            with pytest.raises(ServerError):
                await client.command("NO-SUCH-COMMAND")
            assert await client.command("PING") == b"PONG"

    async def test_no_error_of_a_plain_command_shows_a_password(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, server.url) as client:
            with pytest.raises(ServerError) as caught:
                await client.command("auth", "s3cret")
        assert "s3cret" not in f"{caught.value} {caught.value!r} {caught.value.about}"

    async def test_an_error_of_a_body_names_file_and_line(self, kind: Kind, server: RealServer) -> None:
        (job,) = jobs(1)
        good = enqueue(KEYS, job, b"x")
        bad = Call(TRANSITION, good.keys, (job, b"x", b"not a number"), good.decode, job)
        async with speaking(kind, server.url) as client:
            with pytest.raises(ServerError, match=r"\[at \S+\.lua:\d+\]"):
                await client.run(bad)

    async def test_a_call_that_cannot_be_packed_disturbs_nobody(self, kind: Kind, server: RealServer) -> None:
        (job,) = jobs(1)
        good = enqueue(KEYS, job, b"x")
        bad = Call(TRANSITION, good.keys, ("text",), good.decode, job)  # type: ignore[arg-type]  # what is tested
        async with speaking(kind, server.url) as client:
            with pytest.raises(TypeError):
                await client.run(bad)
            assert await client.run(good) == Enqueued(job)


class TestScripts:
    async def test_a_flush_between_two_calls_is_not_noticed(self, kind: Kind, server: RealServer) -> None:
        first, second = jobs(2)
        async with speaking(kind, server.url) as client:
            assert await client.run(enqueue(KEYS, first, b"x")) == Enqueued(first)
            await client.command("SCRIPT", "FLUSH", "SYNC")
            assert await client.run(enqueue(KEYS, second, b"x")) == Enqueued(second)

    async def test_a_flush_before_a_batch_is_not_noticed(self, kind: Kind, server: RealServer) -> None:
        warm, *many = jobs(101)
        async with speaking(kind, server.url) as client:
            await client.run(enqueue(KEYS, warm, b"x"))
            await client.command("SCRIPT", "FLUSH", "SYNC")
            answers = await client.run_all([enqueue(KEYS, job, b"x") for job in many])
        assert answers == [Enqueued(job) for job in many]

    async def test_a_flusher_at_50_hz_is_not_noticed(self, kind: Kind, server: RealServer) -> None:
        done = threading.Event()
        flushed = threading.Event()

        def flush() -> None:
            while not done.wait(0.02):
                server.ask("SCRIPT", "FLUSH", "SYNC")
                flushed.set()

        flusher = threading.Thread(target=flush)
        flusher.start()
        try:
            async with speaking(kind, server.url) as client:
                for _ in range(60):
                    many = jobs(50)
                    answers = await client.run_all([enqueue(KEYS, job, b"x") for job in many])
                    assert answers == [Enqueued(job) for job in many]
                    (job,) = jobs(1)
                    assert await client.run(enqueue(KEYS, job, b"x")) == Enqueued(job)
        finally:
            await asyncio.to_thread(flushed.wait)
            done.set()
            flusher.join()


class TestGreeting:
    async def test_resp2_carries_calls_too(self, kind: Kind, url: str) -> None:
        (job,) = jobs(1)
        async with speaking(kind, url, resp=2) as client:
            assert await client.run(enqueue(KEYS, job, b"x")) == Enqueued(job)
            assert await client.command("HGETALL", KEYS.job(job)) == [
                b"state", b"pending", b"attempts", b"0", b"payload", b"x"
            ]  # fmt: skip

    async def test_resp3_answers_with_maps(self, kind: Kind, url: str) -> None:
        async with speaking(kind, url) as client:
            await client.command("HSET", "plain", "a", "1")
            assert await client.command("HGETALL", "plain") == {b"a": b"1"}

    async def test_database_and_name_are_set(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, f"{server.url}?db=5", client_name="worker-7") as client:
            info = await client.command("CLIENT", "INFO")
        assert isinstance(info, bytes)
        assert b" db=5 " in info
        assert b" name=worker-7 " in info

    async def test_a_database_that_is_not_there_is_final(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, f"{server.url}?db=99") as client:
            for _ in range(2):
                with pytest.raises(BootRefused):
                    await client.command("PING")

    async def test_the_first_client_writes_the_version(self, kind: Kind, server: RealServer) -> None:
        server.ask("DEL", VERSION.decode())
        async with speaking(kind, server.url) as client:
            assert await client.command("GET", VERSION) == b"echomq:2.4.2"

    async def test_another_major_version_is_final_and_stays_written(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, f"{server.url}?db=3") as client:
            await client.command("SET", VERSION, "echomq:3.0.0")
        async with speaking(kind, f"{server.url}?db=3") as client:
            for _ in range(2):
                with pytest.raises(VersionFence):
                    await client.command("PING")
        options = {"version": "echomq:3.0.0", "accepted_versions": ("echomq:3.*",)}
        async with speaking(kind, f"{server.url}?db=3", **options) as client:
            assert await client.command("GETDEL", VERSION) == b"echomq:3.0.0"

    async def test_a_user_with_a_password_logs_in(self, kind: Kind, server: RealServer) -> None:
        server.ask("ACL", "SETUSER", "ada", "on", ">p/w:#", "~*", "&*", "+@all")
        path = server.unix_path
        for resp in (2, 3):
            async with speaking(kind, f"unix://ada:p%2Fw%3A%23@{path}", resp=resp) as client:
                assert await client.command("ACL", "WHOAMI") == b"ada"
            async with speaking(kind, f"unix://ada:wrong@{path}", resp=resp) as client:
                for _ in range(2):
                    with pytest.raises(AuthRefused):
                        await client.command("PING")

    async def test_a_server_that_wants_a_password_refuses_without(self, kind: Kind) -> None:
        # Its own server, and the readiness check does not log in: the password comes after the start.
        with valkey_server() as own:
            own.ask("CONFIG", "SET", "requirepass", "s3cret")
            async with speaking(kind, own.url) as client:
                with pytest.raises(AuthRefused):
                    await client.command("PING")
            async with speaking(kind, f"unix://:s3cret@{own.unix_path}") as client:
                assert await client.command("PING") == b"PONG"


class TestLosses:
    @pytest.fixture
    def own(self) -> Iterator[RealServer]:
        with valkey_server() as running:
            yield running

    async def test_nobody_there_is_disconnected_after_the_time_of_the_call(self, kind: Kind) -> None:
        async with speaking(kind, "unix:///nowhere/s.sock", reply_timeout_ms=50) as client:
            with pytest.raises(Disconnected, match="nowhere"):
                await client.command("PING")

    async def test_a_restarted_server_is_found_again(self, kind: Kind, own: RealServer) -> None:
        async with speaking(kind, own.url) as client:
            assert await client.command("PING") == b"PONG"
            own.restart()
            assert await client.command("PING") == b"PONG"

    async def test_a_call_waits_for_a_server_that_is_away(self, kind: Kind, own: RealServer) -> None:
        async with speaking(kind, own.url) as client:
            await client.command("PING")
            own.kill()
            waiting = asyncio.create_task(client.command("ECHO", "back"))
            await asyncio.to_thread(own.start)
            assert await waiting == b"back"

    async def test_a_silent_server_is_noticed_and_found_again(self, kind: Kind, own: RealServer) -> None:
        async with speaking(kind, own.url, reply_timeout_ms=200) as client:
            await client.command("PING", reply_timeout_ms=10_000)
            own.freeze()
            try:
                with pytest.raises(ReplyTimeout):
                    await client.command("PING")
            finally:
                own.thaw()
            assert await client.command("PING", reply_timeout_ms=5_000) == b"PONG"

    async def test_a_blocking_command_may_have_a_time_of_its_own(self, kind: Kind, own: RealServer) -> None:
        async with speaking(kind, own.url, reply_timeout_ms=50) as client:
            assert await client.command("BLPOP", "nothing", "0.2", reply_timeout_ms=5_000) is None

    async def test_a_replica_refuses_and_the_link_is_made_anew(self, kind: Kind, own: RealServer) -> None:
        first, second = jobs(2)
        async with speaking(kind, own.url) as client:
            await client.run(enqueue(KEYS, first, b"x"))
            before = await client.command("CLIENT", "ID")
            await client.command("REPLICAOF", "127.0.0.1", "1")
            with pytest.raises(ReadOnly):
                await client.run(enqueue(KEYS, second, b"x"))
            await client.command("REPLICAOF", "NO", "ONE")
            assert await client.command("CLIENT", "ID") != before
            assert await client.run(enqueue(KEYS, second, b"x")) == Enqueued(second)

    async def test_every_call_of_a_batch_hears_from_a_replica(self, kind: Kind, own: RealServer) -> None:
        many = jobs(20)
        async with speaking(kind, own.url) as client:
            await client.command("REPLICAOF", "127.0.0.1", "1")
            answers = await client.run_all([enqueue(KEYS, job, b"x") for job in many])
        assert [type(answer) for answer in answers] == [ReadOnly] * 20

    async def test_a_replica_without_version_can_be_read(self, kind: Kind, own: RealServer) -> None:
        own.ask("REPLICAOF", "127.0.0.1", "1")
        async with speaking(kind, own.url) as client:
            assert await client.command("GET", VERSION) is None


class TestConnecting:
    async def test_a_client_that_connects_at_once_says_at_once_why_it_cannot(self, kind: Kind) -> None:
        assert isinstance(await refusal_of(kind, "unix:///nowhere/s.sock"), Disconnected)
        assert isinstance(await refusal_of(kind, f"valkey://127.0.0.1:{free_port()}"), Disconnected)

    async def test_its_refusal_is_that_of_the_greeting(self, kind: Kind, server: RealServer) -> None:
        assert isinstance(await refusal_of(kind, f"{server.url}?db=99"), BootRefused)
        assert isinstance(await refusal_of(kind, f"unix://nobody:x@{server.unix_path}"), AuthRefused)


class TestClosing:
    async def test_a_closed_client_says_so(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, server.url) as client:
            await client.command("PING")
            await client.close()
            await client.close()
            with pytest.raises(Closed):
                await client.command("PING")
            with pytest.raises(Closed):
                await client.run_all([enqueue(KEYS, job, b"x") for job in jobs(2)])

    async def test_calls_in_flight_are_answered_before_the_close(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, server.url) as client, speaking(kind, server.url) as other:
            slow = asyncio.create_task(client.command("BLPOP", "close-drains", "5"))
            while b"cmd=blpop" not in str(await other.command("CLIENT", "LIST")).encode():
                pass
            closing = asyncio.create_task(client.close())
            await other.command("RPUSH", "close-drains", "value")
            await closing
            assert await slow == [b"close-drains", b"value"]

    async def test_a_client_that_never_connected_closes(self, kind: Kind) -> None:
        async with speaking(kind, "unix:///nowhere") as client:
            await client.close()


class TestSubscribing:
    async def test_messages_arrive_in_order(self, kind: Kind, url: str) -> None:
        async with speaking(kind, url) as client, client.listen("a", "b") as messages:
            for number in range(20):
                await client.command("PUBLISH", "ab"[number % 2], str(number))
            got = [await messages.next() for _ in range(20)]
        assert [(message.channel, message.payload) for message in got] == [
            (b"ab"[number % 2 : number % 2 + 1], b"%d" % number) for number in range(20)
        ]

    async def test_it_goes_on_after_a_restart_and_counts_the_gap(self, kind: Kind) -> None:
        with valkey_server() as own:
            async with speaking(kind, own.url) as client, client.listen("a") as messages:
                await client.command("PUBLISH", "a", "1")
                assert (await messages.next()).payload == b"1"
                own.restart()
                waiting = asyncio.create_task(messages.next())
                while not await client.command("PUBLISH", "a", "2"):
                    pass
                assert (await waiting).payload == b"2"
                assert messages.gaps == 1

    async def test_resp2_cannot_subscribe(self, kind: Kind, server: RealServer) -> None:
        async with speaking(kind, server.url, resp=2) as client:
            with pytest.raises(RequiresResp3):
                async with client.listen("a"):
                    pass

    async def test_a_forbidden_channel_is_refused(self, kind: Kind, server: RealServer) -> None:
        server.ask("ACL", "SETUSER", "eve", "on", ">pw", "~*", "resetchannels", "&open", "+@all")
        async with speaking(kind, f"unix://eve:pw@{server.unix_path}") as client:
            with pytest.raises(EchoMQError, match="NOPERM"):
                async with client.listen("open", "closed"):
                    pass
            async with client.listen("open") as messages:
                await client.command("PUBLISH", "open", "x")
                assert (await messages.next()).payload == b"x"
