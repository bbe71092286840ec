"""Messages of channels for asyncio, over a connection of their own.

async with client.subscribe(keys.events) as messages:
    async for message in messages:
        ...
"""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from echomq.carriers.carrier import NewCarrier
from echomq.clock import Dice
from echomq.drivers._aio_link import Link
from echomq.drivers._aio_node import Node
from echomq.drivers.address import Address
from echomq.drivers.message import Message, message_of
from echomq.errors import BadInput, Closed, EchoMQError, RequiresResp3, ServerError
from echomq.options import ConnectionOptions
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["AioSubscription"]


class AioSubscription:
    """Yields `Message`s until it is closed. One task may read it.

    Entering it (or taking the first message) connects and returns once the server has confirmed every channel, so
    nothing published after that is missed while the link holds. When the link is lost the channels are subscribed
    again by itself; what was published in between is lost, since the server keeps no history, and `gaps` counts how
    often that was so. Raises `RequiresResp3` on a server without RESP3, `ServerError` when a channel is refused, and
    what `AioClient` raises when there is no link.

    When `messages_max` messages wait to be taken, reading pauses and the server buffers.
    """

    def __init__(
        self,
        address: Address,
        options: ConnectionOptions,
        channels: list[bytes],
        *,
        new_carrier: NewCarrier,
        dice: Dice,
        on_close: "Callable[[AioSubscription], None]",
    ) -> None:
        if not channels:
            raise BadInput("subscribe needs one channel or more")
        self.gaps = 0
        self._channels = channels
        self._options = options
        self._on_close = on_close
        self._messages: deque[Message] = deque()
        self._news = asyncio.Event()
        self._is_closed = False
        self._error: EchoMQError | None = None
        self._link: Link | None = None
        self._node = Node(
            address,
            options,
            new_carrier=new_carrier,
            dice=dice,
            on_error=lambda _address, _reply: False,
            on_push=self._push,
            on_link_end=self._wake,
        )

    async def __aenter__(self) -> Self:
        try:
            await self._subscribed()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        """Return the next message; subscribe again first when the link was lost."""
        while not self._messages:
            if self._is_closed:
                raise StopAsyncIteration
            if self._link is None or self._node.link is not self._link:
                await self._subscribed()
                continue
            self._news.clear()
            await self._news.wait()
        message = self._messages.popleft()
        if len(self._messages) < self._options.messages_max:
            self._read(on=True)
        return message

    async def close(self) -> None:
        """Stop. A task that waits for a message ends its loop. May be repeated."""
        self._is_closed = True
        self._on_close(self)
        self._news.set()
        await self._node.close()

    async def _subscribed(self) -> None:
        """Subscribe on the present link, or on the next one if this is lost meanwhile.

        The first time there is a limit to it; later on the reader waits as it would for a message.
        """
        if self._is_closed:
            raise Closed("this subscription was closed")
        deadline = None
        if self._link is None:
            deadline = asyncio.get_running_loop().time() + self._options.reply_timeout_ms / 1000
        while not await self._subscribed_on(await self._node.usable(deadline)):
            pass

    async def _subscribed_on(self, link: Link) -> bool:
        """Subscribe on a link and return whether it lived to confirm it."""
        greeted = link.connection.greeted
        if greeted is not None and greeted.resp != 3:
            raise RequiresResp3(f"{self._node.address} speaks RESP2 only, and messages need RESP3")
        confirmed: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        link.subscribe(self._channels, confirmed.set_result)
        link.ended.add_done_callback(lambda _: confirmed.cancel())
        await asyncio.wait([confirmed])
        if confirmed.cancelled():
            return False
        reply = confirmed.result()
        if isinstance(reply, ErrorReply):
            raise ServerError(reply.text, about=f"subscribe to {len(self._channels)} channels")
        if self._link is not None:
            self.gaps += 1
        self._link = link
        return True

    def _push(self, push: list[Reply]) -> None:
        message = message_of(push)
        if message is not None:
            self._messages.append(message)
            self._news.set()
            if len(self._messages) >= self._options.messages_max:
                self._read(on=False)

    def _wake(self) -> None:
        self._news.set()

    def _read(self, *, on: bool) -> None:
        link = self._link
        transport = None if link is None else link.transport
        if transport is None or transport.is_closing():
            return
        if on:
            transport.resume_reading()
        else:
            transport.pause_reading()
