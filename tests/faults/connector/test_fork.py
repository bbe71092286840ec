"""A client that was used before a fork: the child gets connections of its own and leaves the parent's alone."""

import asyncio
import os
import traceback
from collections.abc import Callable, Iterator

import pytest

from echomq.drivers.aio import AioClient
from echomq.drivers.blocking import BlockingClient
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Enqueued
from echomq.transitions.enqueue import enqueue
from tests.servers import RealServer, valkey_server

KEYS = QueueKeys("fork")
CHILDREN = 4
CALLS = 1000


@pytest.fixture
def server() -> Iterator[RealServer]:
    with valkey_server() as running:
        yield running


def in_child(work: Callable[[], object]) -> int:
    """Run something in a forked child and return its process id; the child ends with 0 if it went well."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended_well(children: list[int]) -> bool:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)


def jobs_of(child: int) -> list[JobId]:
    return [JobId.of_snowflake(child * 1_000_000 + number) for number in range(CALLS)]


def test_four_children_of_a_blocking_client_each_run_their_own_calls(server: RealServer) -> None:
    with BlockingClient(ConnectionOptions(url=server.url)) as client:
        own = client.command("CLIENT", "ID")

        def work(number: int) -> None:
            assert client.command("CLIENT", "ID") != own
            for job in jobs_of(number):
                assert client.run(enqueue(KEYS, job, bytes(job))) == Enqueued(job)
                assert client.command("HGET", KEYS.job(job), "payload") == bytes(job)
            client.close()

        children = [in_child(lambda number=number: work(number)) for number in range(1, CHILDREN + 1)]  # type: ignore[misc]  # the default binds the number
        for number in range(CALLS):
            assert client.command("ECHO", str(number)) == b"%d" % number
        assert ended_well(children)
        assert client.command("CLIENT", "ID") == own, "the parent's connection is untouched"
        assert client.command("ZCARD", KEYS.pending) == CHILDREN * CALLS


def test_a_child_does_not_inherit_a_lock_that_was_held(server: RealServer) -> None:
    with BlockingClient(ConnectionOptions(url=server.url)) as client:
        client.command("PING")
        with client._lock:
            child = in_child(lambda: client.command("PING", reply_timeout_ms=5_000))
            assert ended_well([child])


def test_four_children_of_an_asyncio_client_each_run_their_own_calls(server: RealServer) -> None:
    async def parent() -> None:
        async with await AioClient.connect(ConnectionOptions(url=server.url)) as client:
            own = await client.command("CLIENT", "ID")

            async def work(number: int) -> None:
                assert await client.command("CLIENT", "ID") != own
                answers = await client.run_all([enqueue(KEYS, job, bytes(job)) for job in jobs_of(number)])
                assert answers == [Enqueued(job) for job in jobs_of(number)]
                for job in jobs_of(number)[::100]:
                    assert await client.command("HGET", KEYS.job(job), "payload") == bytes(job)
                await client.close()

            def child(number: int) -> None:
                # The child is inside the parent's loop, which it must not run; its own begins with a clean slate.
                asyncio.events._set_running_loop(None)
                asyncio.run(work(number))

            children = [in_child(lambda number=number: child(number)) for number in range(1, CHILDREN + 1)]  # type: ignore[misc]  # the default binds the number
            for number in range(CALLS):
                assert await client.command("ECHO", str(number)) == b"%d" % number
            assert await asyncio.to_thread(ended_well, children)
            assert await client.command("CLIENT", "ID") == own, "the parent's connection is untouched"
            assert await client.command("ZCARD", KEYS.pending) == CHILDREN * CALLS

    asyncio.run(parent())


def test_a_child_that_never_uses_the_client_harms_nobody(server: RealServer) -> None:
    async def parent() -> None:
        async with await AioClient.connect(ConnectionOptions(url=server.url)) as client:
            own = await client.command("CLIENT", "ID")
            assert await asyncio.to_thread(ended_well, [in_child(lambda: None)])
            assert await client.command("CLIENT", "ID") == own

    asyncio.run(parent())


def test_a_child_lets_go_of_the_parents_socket(server: RealServer) -> None:
    """Else the server would keep the parent's connection for as long as the child lives."""
    ready, done = os.pipe(), os.pipe()

    async def parent() -> int:
        client = await AioClient.connect(ConnectionOptions(url=server.url))
        own = await client.command("CLIENT", "ID")

        def child() -> None:
            asyncio.events._set_running_loop(None)
            asyncio.run(client.command("PING"))
            os.write(ready[1], b"x")
            os.read(done[0], 1)

        number = in_child(child)
        os.read(ready[0], 1)
        await client.close()
        async with await AioClient.connect(ConnectionOptions(url=server.url)) as other:
            while f"id={own} " in str(await other.command("CLIENT", "LIST")):
                pass
        os.write(done[1], b"x")
        return number

    try:
        assert ended_well([asyncio.run(asyncio.wait_for(parent(), 20))])
    finally:
        for end in (*ready, *done):
            os.close(end)
