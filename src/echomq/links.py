"""The clients of an application, made on first use: for asyncio one for each loop, for plain code one.

Both are runners of calls (`jobs.Runner`, `blocking_jobs.BlockingRunner`). They exist so that an application object can
be made at import time, before there is an event loop and without connecting anywhere.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from echomq.drivers.aio import AioClient
from echomq.drivers.aio_parking import AioParking
from echomq.drivers.blocking import BlockingClient
from echomq.errors import Disconnected, EchoMQError
from echomq.forks import ProcessLock
from echomq.nodes import LEASE_PATIENCE_MS
from echomq.options import ConnectionOptions
from echomq.server_address import ServerAddress, closed
from echomq.transitions.call import Call

__all__ = ["AioLink", "BlockingLink"]

A = TypeVar("A")


class AioLink:
    """The asyncio clients of an application: one for each event loop that uses it.

    A client cannot outlive its loop, and a loop that ended cannot close it any more. So each client is tied to its loop
    by an asynchronous generator, which the loop finalises when it ends (`loop.shutdown_asyncgens`, which `asyncio.run`
    calls): programs that run one loop after the other, as frameworks do, leave no connection behind.
    """

    def __init__(self, address: ServerAddress, settings: ConnectionOptions) -> None:
        self._address = address
        self._settings = settings
        self._by_loop: dict[asyncio.AbstractEventLoop, _OfLoop] = {}
        self._closing: set[asyncio.Future[None]] = set()
        self._is_closed = False

    async def run(self, call: Call[A]) -> A:
        """Run one call."""
        of_loop = self._by_loop.get(asyncio.get_running_loop())
        client = (None if of_loop is None or self._is_closed else of_loop.client) or await self.client()
        try:
            return await client.run(call)
        except Disconnected:  # nothing was sent
            if not await asyncio.to_thread(self._address.revive):
                raise
        return await client.run(call)

    async def run_all(self, calls: Sequence[Call[A]]) -> list[A | EchoMQError]:
        """Run calls in one round trip; each one's answer or exception, in order."""
        client = await self.client()
        try:
            return await client.run_all(calls)
        except Disconnected:
            if not await asyncio.to_thread(self._address.revive):
                raise
        return await client.run_all(calls)

    async def wait(self, future: "Future[None]") -> None:
        """Wait for what another task or thread does, as long as patience allows."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(future), LEASE_PATIENCE_MS / 1000)

    async def open(self) -> None:
        """Connect now. Raises at once what prevents it; a client that is made at its first call tries again instead."""
        await self.client(connected=True)

    async def client(self, *, connected: bool = False) -> AioClient:
        """Return the client of the running loop; make it, and the server's address, when there is none yet."""
        loop = asyncio.get_running_loop()
        self._forget_ended_loops()
        of_loop = self._by_loop.setdefault(loop, _OfLoop())
        async with of_loop.opening:
            if self._is_closed:
                raise closed()
            if of_loop.client is None:
                options = replace(self._settings, url=await asyncio.to_thread(self._address.resolve))
                of_loop.client = await AioClient.connect(options) if connected else AioClient(options)
                of_loop.watch = self._until_the_loop_ends(loop, of_loop.client)
                await anext(of_loop.watch)
            return of_loop.client

    async def parking(self, key: bytes) -> AioParking:
        """Return one more link, which waits for tokens of a list. Close it, or close the application."""
        return (await self.client()).parking(key)

    def _forget_ended_loops(self) -> None:
        for loop in [loop for loop in tuple(self._by_loop) if loop.is_closed()]:
            self._by_loop.pop(loop, None)

    async def close(self) -> None:
        """Let the calls in flight end, then close this loop's client. Safe to repeat. Other loops close theirs soon."""
        self.refuse(but=asyncio.get_running_loop())
        of_loop = self._by_loop.pop(asyncio.get_running_loop(), None)
        if of_loop is not None and of_loop.watch is not None:
            await of_loop.watch.aclose()

    def refuse(self, *, but: asyncio.AbstractEventLoop | None = None) -> None:
        """Take no more calls, from whatever thread, and have each loop that still runs close its client."""
        self._is_closed = True
        self._forget_ended_loops()
        for loop, of_loop in tuple(self._by_loop.items()):
            if loop is not but and of_loop.client is not None:
                with contextlib.suppress(RuntimeError):  # it ended just now
                    loop.call_soon_threadsafe(self._close_soon, of_loop.client)

    def _close_soon(self, client: AioClient) -> None:
        closing = asyncio.ensure_future(client.close())
        self._closing.add(closing)  # a loop holds its tasks weakly
        closing.add_done_callback(self._closing.discard)

    async def _until_the_loop_ends(
        self, loop: asyncio.AbstractEventLoop, client: AioClient
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._by_loop.pop(loop, None)
            await client.close()

    @property
    def is_open(self) -> bool:
        """Whether the running loop has a client."""
        of_loop = self._by_loop.get(asyncio.get_running_loop())
        return of_loop is not None and of_loop.client is not None


class _OfLoop:
    """What belongs to one event loop: its client, what closes that when the loop ends, and who may make it."""

    __slots__ = ("client", "opening", "watch")

    def __init__(self) -> None:
        self.client: AioClient | None = None
        self.watch: AsyncGenerator[None, None] | None = None
        self.opening = asyncio.Lock()


class BlockingLink:
    """The blocking client of an application."""

    def __init__(self, address: ServerAddress, settings: ConnectionOptions) -> None:
        self._address = address
        self._settings = settings
        self._client: BlockingClient | None = None
        self._lock = ProcessLock()
        self._is_closed = False

    def run(self, call: Call[A]) -> A:
        """Run one call."""
        client = self._client or self.client()
        try:
            return client.run(call)
        except Disconnected:  # nothing was sent
            if not self._address.revive():
                raise
        return client.run(call)

    def run_all(self, calls: Sequence[Call[A]]) -> list[A | EchoMQError]:
        """Run calls in one round trip; each one's answer or exception, in order."""
        client = self.client()
        try:
            return client.run_all(calls)
        except Disconnected:
            if not self._address.revive():
                raise
        return client.run_all(calls)

    def wait(self, future: "Future[None]") -> None:
        """Wait for what another task or thread does, as long as patience allows."""
        with contextlib.suppress(TimeoutError):
            future.result(LEASE_PATIENCE_MS / 1000)

    def open(self) -> None:
        """Connect now. Raises at once what prevents it; a client that is made at its first call tries again instead."""
        self.client(connected=True)

    def client(self, *, connected: bool = False) -> BlockingClient:
        """Return the client; make it, and the server's address, when there is none yet."""
        with self._lock:
            if self._is_closed:
                raise closed()
            if self._client is None:
                options = self._options()
                self._client = BlockingClient.connect(options) if connected else BlockingClient(options)
            return self._client

    def new_client(self) -> BlockingClient:
        """Return one more client, with a connection of its own, which the caller closes."""
        return BlockingClient(self._options())

    def _options(self) -> ConnectionOptions:
        return replace(self._settings, url=self._address.resolve())

    def close(self) -> None:
        """Close. Safe to repeat."""
        with self._lock:
            self._is_closed = True
            client, self._client = self._client, None
        if client is not None:
            client.close()
