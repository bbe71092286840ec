"""The application object: where the server is, and who talks to it.

This is the one place that puts the parts together: the address (given, from the environment, or the embedded server),
one asyncio client, one blocking client, and the node number that ids are minted with. Nothing connects before the first
use, and no background thread is started.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.codec import PAYLOAD_BYTES_MAX
from echomq.drivers.address import parse_address
from echomq.drivers.aio_parking import AioParking
from echomq.drivers.blocking import BlockingClient
from echomq.errors import EchoMQError, InvalidOption
from echomq.jobs import Jobs
from echomq.keys import QueueKeys
from echomq.lanes import Lanes
from echomq.links import AioLink, BlockingLink
from echomq.nodes import NodeHolder
from echomq.options import ConnectionOptions
from echomq.server_address import ServerAddress
from echomq.transitions.checks import check_number

__all__ = ["EchoMQ", "connect", "connect_blocking"]

URL_VARIABLE = "ECHOMQ_URL"


class EchoMQ:
    """A deployment of echomq, as one program sees it.

    Without an address it uses `ECHOMQ_URL`, and without that a private, persistent server that it starts by itself and
    shares with the user's other programs (`docs/embedded.md`). Use it as a context manager: ``async with`` in asyncio,
    ``with`` in plain code. Both faces may be used side by side:

        async with EchoMQ() as app:
            await app.jobs("mail").enqueue(b"...")

        with EchoMQ() as app:
            app.blocking_jobs("mail").enqueue(b"...")

    One `EchoMQ` may be used from several threads and event loops; each loop gets a connection of its own, which is
    closed when the loop ends as `asyncio.run` ends it.

    `url` is an address such as ``valkey://user:password@host:6379/0``, ``valkeys://…`` (TLS) or ``unix:///path``;
    `connection` are the connection's other settings; `node` is a node number of your own, 0..1023, instead of a leased
    one (see `echomq.ids` for what that risks); `payload_bytes_max` is the limit of one payload; `home` is the embedded
    server's directory, instead of `ECHOMQ_HOME`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        connection: ConnectionOptions | None = None,
        node: int | None = None,
        payload_bytes_max: int = PAYLOAD_BYTES_MAX,
        home: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        settings = connection or ConnectionOptions()
        if url is not None and settings.url is not None:
            raise InvalidOption("url", "given twice", "one address: as `url`, or in `connection`")
        address = next((given for given in (url, settings.url) if given is not None), environ.get(URL_VARIABLE) or None)
        if address is not None:
            parse_address(address)
        self._address = ServerAddress(address, home=home, environ=environ)
        self._payload_bytes_max = check_number("payload_bytes_max", payload_bytes_max, least=1)
        self._nodes = NodeHolder(node=node)
        self._aio = AioLink(self._address, settings)
        self._blocking = BlockingLink(self._address, settings)

    def jobs(self, queue: str) -> Jobs:
        """Return the jobs of a queue for asyncio. Sends nothing. Raises `InvalidName`."""
        return Jobs(queue, self._aio, self._nodes, payload_bytes_max=self._payload_bytes_max)

    def blocking_jobs(self, queue: str) -> BlockingJobs:
        """Return the jobs of a queue for plain code; safe to use from several threads. Raises `InvalidName`."""
        return BlockingJobs(queue, self._blocking, self._nodes, payload_bytes_max=self._payload_bytes_max)

    def lanes(self, queue: str) -> Lanes:
        """Return the lanes of a queue for asyncio. Sends nothing. Raises `InvalidName`."""
        return Lanes(queue, self._aio)

    def blocking_lanes(self, queue: str) -> BlockingLanes:
        """Return the lanes of a queue for plain code; safe to use from several threads. Raises `InvalidName`."""
        return BlockingLanes(queue, self._blocking)

    def new_blocking_client(self) -> BlockingClient:
        """Return a further blocking client with a connection of its own, for a thread of yours. Close it yourself."""
        return self._blocking.new_client()

    async def new_parking(self, queue: str) -> AioParking:
        """Return what waits for wake-ups of a queue, over a connection of its own. Close it yourself."""
        return await self._aio.parking(QueueKeys(queue).wake)

    async def open(self) -> Self:
        """Connect for asyncio now instead of at the first call. Raises what connecting can raise."""
        await self._aio.open()
        return self

    def open_blocking(self) -> Self:
        """Connect for plain code now instead of at the first call. Raises what connecting can raise."""
        self._blocking.open()
        return self

    async def aclose(self) -> None:
        """Return the node number, let calls in flight end, and close everything. Safe to repeat."""
        returning = self._nodes.call_to_return()
        if returning is not None:
            with contextlib.suppress(EchoMQError):  # the number lapses by itself
                if self._aio.is_open:
                    await self._aio.run(returning)
                else:
                    await asyncio.to_thread(self._blocking.run, returning)
        await self._aio.close()
        await asyncio.to_thread(self._close_shared)

    def close(self) -> None:
        """Return the node number and close everything. For plain code; in asyncio use `aclose`. Safe to repeat."""
        returning = self._nodes.call_to_return()
        if returning is not None:
            with contextlib.suppress(EchoMQError):
                self._blocking.run(returning)
        self._close_shared()

    def _close_shared(self) -> None:
        self._aio.refuse()
        self._blocking.close()
        self._address.close()

    async def __aenter__(self) -> Self:
        try:
            return await self.open()
        except BaseException:
            await self.aclose()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        try:
            return self.open_blocking()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def connect(url: str | None = None, *, connection: ConnectionOptions | None = None) -> EchoMQ:
    """Return an `EchoMQ` that is connected for asyncio. Close it with `aclose`, or use `async with EchoMQ(...)`."""
    return await EchoMQ(url, connection=connection).__aenter__()


def connect_blocking(url: str | None = None, *, connection: ConnectionOptions | None = None) -> EchoMQ:
    """Return an `EchoMQ` that is connected for plain code. Close it with `close`, or use `with EchoMQ(...)`."""
    return EchoMQ(url, connection=connection).__enter__()
