"""Both drivers behind one face, so that each promise is written once and held by both.

The blocking client runs in a worker thread; everything else is the client as users have it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, TypeVar

from echomq.drivers.aio import AioClient
from echomq.drivers.blocking import BlockingClient
from echomq.drivers.message import Message
from echomq.errors import EchoMQError
from echomq.options import ConnectionOptions
from echomq.resp.reply import Reply
from echomq.transitions.call import Call

Answer = TypeVar("Answer")
Result = TypeVar("Result")

OPTIONS: dict[str, Any] = {"reconnect_first_ms": 1, "reconnect_last_ms": 20}


class Speaker(Protocol):
    """A client."""

    async def run(self, call: Call[Answer], *, reply_timeout_ms: int | None = None) -> Answer: ...

    async def run_all(self, calls: Sequence[Call[Answer]]) -> list[Answer | EchoMQError]: ...

    async def command(self, *parts: bytes | str | int, reply_timeout_ms: int | None = None) -> Reply: ...

    def listen(self, *channels: str) -> "contextlib.AbstractAsyncContextManager[Listener]": ...

    async def close(self) -> None: ...


class Listener(Protocol):
    """A subscription."""

    async def next(self) -> Message: ...

    @property
    def gaps(self) -> int: ...


class AioSpeaker(AioClient):
    """The asyncio client as it is."""

    @contextlib.asynccontextmanager
    async def listen(self, *channels: str) -> AsyncIterator[Listener]:
        async with self.subscribe(*channels) as subscription:

            class Reader:
                async def next(self) -> Message:
                    async with asyncio.timeout(10):
                        return await anext(subscription)

                @property
                def gaps(self) -> int:
                    return subscription.gaps

            yield Reader()


class BlockingSpeaker:
    """The blocking client, one call in a thread at a time or many."""

    def __init__(self, options: ConnectionOptions) -> None:
        self.client = BlockingClient(options)

    async def run(self, call: Call[Answer], *, reply_timeout_ms: int | None = None) -> Answer:
        return await _threaded(lambda: self.client.run(call, reply_timeout_ms=reply_timeout_ms))

    async def run_all(self, calls: Sequence[Call[Answer]]) -> list[Answer | EchoMQError]:
        return await _threaded(lambda: self.client.run_all(calls))

    async def command(self, *parts: bytes | str | int, reply_timeout_ms: int | None = None) -> Reply:
        return await _threaded(lambda: self.client.command(*parts, reply_timeout_ms=reply_timeout_ms))

    @contextlib.asynccontextmanager
    async def listen(self, *channels: str) -> AsyncIterator[Listener]:
        subscription = self.client.subscribe(*channels)
        await _threaded(subscription.__enter__)

        class Reader:
            async def next(self) -> Message:
                message = await _threaded(lambda: subscription.get(timeout_ms=10_000))
                assert message is not None, "no message within ten seconds"
                return message

            @property
            def gaps(self) -> int:
                return subscription.gaps

        try:
            yield Reader()
        finally:
            subscription.close()

    async def close(self) -> None:
        await _threaded(self.client.close)


Kind = Callable[[ConnectionOptions], Speaker]
KINDS: dict[str, Kind] = {"aio": AioSpeaker, "blocking": BlockingSpeaker}


@contextlib.asynccontextmanager
async def speaking(kind: Kind, url: str, **options: Any) -> AsyncIterator[Speaker]:
    """A client that connects at its first use, closed at the end."""
    speaker = kind(ConnectionOptions(url=url, **{**OPTIONS, **options}))
    try:
        yield speaker
    finally:
        await speaker.close()


async def refusal_of(kind: Kind, url: str) -> EchoMQError:
    """Why a client that connects at once cannot."""
    options = ConnectionOptions(url=url, **OPTIONS)
    try:
        if kind is AioSpeaker:
            await (await AioClient.connect(options)).close()
        else:
            (await _threaded(lambda: BlockingClient.connect(options))).close()
    except EchoMQError as error:
        return error
    raise AssertionError(f"{url} was expected to refuse")


async def _threaded(work: Callable[[], Result]) -> Result:
    return await asyncio.to_thread(work)
