"""One node of the asyncio driver: keeps a link to an address, and makes a new one when it is lost."""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Final

from echomq.carriers.carrier import NewCarrier
from echomq.clock import Dice
from echomq.drivers._aio_link import Link
from echomq.drivers._raw import greeting_of
from echomq.drivers.address import Address
from echomq.drivers.backoff import delay_ms
from echomq.drivers.tls import tls_context
from echomq.errors import Closed, ConnectionFailed, ConnectTimeout, Disconnected, EchoMQError, Overloaded, ProtocolError
from echomq.options import ConnectionOptions
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["Node", "is_fatal"]

_CLOSE_S: Final = 1.0


def is_fatal(error: EchoMQError) -> bool:
    """Say whether connecting again cannot help: the greeting was refused (protocol 3.3)."""
    return not isinstance(error, Disconnected | ConnectTimeout | Closed | ProtocolError)


class Node:
    """Keeps one link. Calls that find none wait here until one is there, their time is up, or a refusal is final."""

    def __init__(
        self,
        address: Address,
        options: ConnectionOptions,
        *,
        new_carrier: NewCarrier,
        dice: Dice,
        on_error: Callable[[Address, ErrorReply], bool],
        on_push: Callable[[list[Reply]], None] | None = None,
        on_link_end: Callable[[], None] | None = None,
    ) -> None:
        self.address = address
        self.link: Link | None = None
        self._options = options
        self._new_carrier = new_carrier
        self._dice = dice
        self._on_error = partial(on_error, address)
        self._on_push = on_push
        self._on_link_end = on_link_end
        self.loop = asyncio.get_running_loop()
        self._tls: ssl.SSLContext | None = None if address.tls is None else tls_context(address.tls)
        self._waiters: dict[asyncio.Future[None], None] = {}
        self._connecting: asyncio.Task[None] | None = None
        self._attempt = 0
        self._final: EchoMQError | None = None
        self._last: EchoMQError | None = None
        self._ending: set[Link] = set()

    async def connect(self) -> None:
        """Make a link by one attempt. Raises its failure."""
        self.link = await self._connect_once()

    async def usable(self, deadline: float | None) -> Link:
        """Return a link that takes calls. Raises `Disconnected` at the deadline (None: never), or the final refusal."""
        while (link := self.link) is None:
            if self._final is not None:
                raise self._final.with_traceback(None)
            if len(self._waiters) >= self._options.in_flight_max:
                raise Overloaded(f"{len(self._waiters)} calls wait for a connection to {self.address} already")
            self._keep_connecting()
            await self._wait(deadline)
        return link

    async def close(self) -> None:
        """Let the calls in flight end, then close. Calls that wait for a link get `Closed`."""
        self._final = Closed(f"the client of {self.address} was closed")
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        self._wake()
        if self.link is not None:
            self.link.retire()
        for link in list(self._ending):
            await self._see_off(link)

    def disown(self) -> list[Link]:
        """Let go of this process's copies of the sockets, after a fork, and return the links, to be kept unused."""
        links = list(self._ending)
        for link in links:
            link.disown()
        return links

    async def _wait(self, deadline: float | None) -> None:
        waiter: asyncio.Future[None] = self.loop.create_future()
        self._waiters[waiter] = None
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except TimeoutError:
            why = "" if self._last is None else f" ({self._last})"
            raise Disconnected(f"no connection to {self.address} within the time of this call{why}") from self._last
        finally:
            self._waiters.pop(waiter, None)

    def _wake(self) -> None:
        for waiter in list(self._waiters):
            if not waiter.done():
                waiter.set_result(None)

    def _keep_connecting(self, *, delayed: bool = False) -> None:
        if self._connecting is None and self._final is None:
            self._connecting = self.loop.create_task(self._connect_until_final(delayed=delayed))

    async def _connect_until_final(self, *, delayed: bool) -> None:
        try:
            while self.link is None and self._final is None:
                if delayed:
                    await self._pause()
                await self._try_once()
                delayed = True
        finally:
            self._connecting = None
        self._wake()

    async def _try_once(self) -> None:
        try:
            self.link = await self._connect_once()
        except (ConnectionFailed, ProtocolError) as error:
            self._last = error
            if is_fatal(error):
                self._final = error

    async def _pause(self) -> None:
        options = self._options
        wait_ms = delay_ms(
            self._attempt, self._dice, first_ms=options.reconnect_first_ms, last_ms=options.reconnect_last_ms
        )
        self._attempt += 1
        await asyncio.sleep(wait_ms / 1000)

    async def _connect_once(self) -> Link:
        link = Link(
            self.loop,
            greeting_of(self.address, self._options),
            self._new_carrier(),
            name=str(self.address),
            on_end=self._ended,
            on_error=self._on_error,
            on_push=self._on_push,
        )
        timeout_ms = self._options.connect_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._open(link)
                self._ending.add(link)
                link.ended.add_done_callback(lambda _: self._ending.discard(link))
                await asyncio.shield(link.ready)
        except TimeoutError:
            late = ConnectTimeout(f"no connection to {self.address} within {timeout_ms} ms")
            link.drop(late)
            raise late from None
        except (OSError, UnicodeError) as error:
            link.drop(Disconnected(str(error)))
            raise Disconnected(f"{self.address} cannot be reached ({error})") from error
        except BaseException:
            link.drop(Closed("connecting was cancelled"))
            raise
        if not link.connection.is_ready:
            # It ended between its greeting and this turn of the loop, and nobody was told since nobody had it.
            raise Disconnected(f"the connection to {self.address} was lost as it was made ({link.connection.error})")
        return link

    async def _open(self, link: Link) -> None:
        address, loop = self.address, self.loop
        if address.unix_path is not None:
            await loop.create_unix_connection(lambda: link, address.unix_path)
        elif self._tls is None:
            await loop.create_connection(lambda: link, address.host, address.port)
        else:
            await loop.create_connection(
                lambda: link, address.host, address.port, ssl=self._tls, server_hostname=address.host
            )

    def _ended(self, link: Link) -> None:
        if self.link is not link:
            return
        self.link = None
        self._last = link.connection.error
        if link.has_answered:
            self._attempt = 0
        self._keep_connecting(delayed=True)
        if self._on_link_end is not None:
            self._on_link_end()

    async def _see_off(self, link: Link) -> None:
        """Wait for a link that drains; its own deadlines end that, with a moment to do so. Then wait for the socket."""
        options = self._options
        for seconds in (options.reply_timeout_ms / 1000 + _CLOSE_S, _CLOSE_S):
            await asyncio.wait([link.ended], timeout=seconds)
            if link.ended.done():
                return
            link.drop(Closed(f"the client of {self.address} was closed"))
