"""The clients of an application, made on first use: one for asyncio, one for plain code.

Both are runners of calls (`jobs.Runner`, `blocking_jobs.BlockingRunner`). They exist so that an application object can
be made at import time, before there is an event loop and without connecting anywhere.
"""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from echomq.drivers.aio import AioClient
from echomq.drivers.blocking import BlockingClient
from echomq.errors import Closed, EchoMQError
from echomq.options import ConnectionOptions
from echomq.server_address import ServerAddress
from echomq.transitions.call import Call

__all__ = ["AioLink", "BlockingLink"]

A = TypeVar("A")


def _closed() -> Closed:
    return Closed("this EchoMQ was closed: make a new one to go on")


class AioLink:
    """The asyncio client of an application. It belongs to the event loop that used it first."""

    def __init__(self, address: ServerAddress, settings: ConnectionOptions) -> None:
        self._address = address
        self._settings = settings
        self._client: AioClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Lock | None = None
        self._is_closed = False

    async def run(self, call: Call[A]) -> A:
        """Run one call."""
        client = self._client
        if client is None or self._loop is not asyncio.get_running_loop():
            client = await self.client()
        return await client.run(call)

    async def run_all(self, calls: Sequence[Call[A]]) -> list[A | EchoMQError]:
        """Run calls in one round trip; each one's answer or exception, in order."""
        return await (await self.client()).run_all(calls)

    async def open(self) -> None:
        """Connect now. Raises at once what prevents it; a client that is made at its first call tries again instead."""
        await self.client(connected=True)

    async def client(self, *, connected: bool = False) -> AioClient:
        """Return the client of the running loop; make it, and the server's address, when there is none yet."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # A client of a loop that has ended cannot be used or closed any more; this loop gets its own.
            self._loop, self._client, self._opening = loop, None, asyncio.Lock()
        assert self._opening is not None
        async with self._opening:
            if self._is_closed:
                raise _closed()
            if self._client is None:
                options = replace(self._settings, url=await asyncio.to_thread(self._address.resolve))
                self._client = await AioClient.connect(options) if connected else AioClient(options)
            return self._client

    async def close(self) -> None:
        """Let the calls in flight end, then close. Safe to repeat."""
        self._is_closed = True
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    @property
    def is_open(self) -> bool:
        """Whether a client was made."""
        return self._client is not None


class BlockingLink:
    """The blocking client of an application."""

    def __init__(self, address: ServerAddress, settings: ConnectionOptions) -> None:
        self._address = address
        self._settings = settings
        self._client: BlockingClient | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, call: Call[A]) -> A:
        """Run one call."""
        return (self._client or self.client()).run(call)

    def run_all(self, calls: Sequence[Call[A]]) -> list[A | EchoMQError]:
        """Run calls in one round trip; each one's answer or exception, in order."""
        return self.client().run_all(calls)

    def open(self) -> None:
        """Connect now. Raises at once what prevents it; a client that is made at its first call tries again instead."""
        self.client(connected=True)

    def client(self, *, connected: bool = False) -> BlockingClient:
        """Return the client; make it, and the server's address, when there is none yet."""
        with self._lock:
            if self._is_closed:
                raise _closed()
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

    @property
    def is_open(self) -> bool:
        """Whether a client was made."""
        return self._client is not None
