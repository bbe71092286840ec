"""Messages of channels for plain threads, over a connection of their own.

with client.subscribe(keys.events) as messages:
    message = messages.get(timeout_ms=1_000)
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from echomq.clock import Dice
from echomq.drivers._blocking_link import BlockingLink
from echomq.drivers.backoff import delay_ms
from echomq.drivers.message import Message, message_of
from echomq.errors import BadInput, Closed, ConnectTimeout, Disconnected, ProtocolError, RequiresResp3, ServerError
from echomq.options import ConnectionOptions
from echomq.resp.reply import ErrorReply

__all__ = ["BlockingSubscription"]

_STEP_S: Final = 3_600.0


class BlockingSubscription:
    """Yields `Message`s until it is closed. One thread may read it.

    Entering it (or the first `get`) connects and returns once the server has confirmed every channel. When the link is
    lost the channels are subscribed again by itself; what was published in between is lost, since the server keeps no
    history, and `gaps` counts how often that was so. Raises `RequiresResp3` on a server without RESP3, `ServerError`
    when a channel is refused, and what `BlockingClient` raises when there is no link at the first time.
    """

    def __init__(
        self, connect: Callable[[], BlockingLink], options: ConnectionOptions, channels: list[bytes], *, dice: Dice
    ) -> None:
        if not channels:
            raise BadInput("subscribe needs one channel or more")
        self.gaps = 0
        self._connect = connect
        self._options = options
        self._channels = channels
        self._dice = dice
        self._link: BlockingLink | None = None
        self._messages: deque[Message] = deque()
        self._attempt = 0
        self._retry_at = 0.0
        self._is_closed = False
        self._was_subscribed = False

    def __enter__(self) -> Self:
        self._subscribe()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Message]:
        """Yield messages for ever."""
        while True:
            message = self.get(timeout_ms=None)
            if message is not None:
                yield message

    def get(self, *, timeout_ms: int | None) -> Message | None:
        """Return the next message, or None when none came within the time. None waits for ever."""
        seconds = _STEP_S if timeout_ms is None else timeout_ms / 1000
        deadline = time.monotonic() + seconds
        while not self._messages:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            try:
                self._wait(left)
            except (Disconnected, ConnectTimeout, ProtocolError):
                if not self._was_subscribed:
                    raise
                self._lose()
        return self._messages.popleft()

    def close(self) -> None:
        """Close the connection. May be repeated."""
        self._is_closed = True
        if self._link is not None:
            self._link.close()
            self._link = None

    def _wait(self, left_s: float) -> None:
        """Wait once for messages: as long as allowed, but no longer than until the link is due to be tested."""
        if self._link is None:
            pause = self._retry_at - time.monotonic()
            if pause > 0:
                time.sleep(min(pause, left_s))
                return
            self._subscribe()
        link = self._link
        assert link is not None
        if not self._take(link.pushes(min(left_s, self._options.ping_interval_ms / 1000))) and not link.is_usable():
            raise Disconnected("the link of this subscription was lost")

    def _subscribe(self) -> None:
        if self._is_closed:
            raise Closed("this subscription was closed")
        if self._link is not None:
            return
        link = self._connect()
        try:
            self._subscribe_on(link)
        except BaseException:
            link.close()
            raise
        self.gaps += self._was_subscribed
        self._was_subscribed = True
        self._attempt = 0
        self._link = link

    def _subscribe_on(self, link: BlockingLink) -> None:
        if link.resp != 3:
            raise RequiresResp3(f"{link.address} speaks RESP2 only, and messages need RESP3")
        reply = link.subscribe(self._channels, time.monotonic() + self._options.reply_timeout_ms / 1000)
        if isinstance(reply, ErrorReply):
            raise ServerError(reply.text, about=f"subscribe to {len(self._channels)} channels")

    def _take(self, pushes: list[object]) -> bool:
        for push in pushes:
            message = message_of(push)
            if message is not None:
                self._messages.append(message)
        return bool(pushes)

    def _lose(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        options = self._options
        wait_ms = delay_ms(
            self._attempt, self._dice, first_ms=options.reconnect_first_ms, last_ms=options.reconnect_last_ms
        )
        self._attempt += 1
        self._retry_at = time.monotonic() + wait_ms / 1000
