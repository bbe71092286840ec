"""How a connection leaves a server that it waits on, without losing what it is about to be given."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from echomq.drivers._aio_link import Link
from echomq.errors import Closed, EchoMQError
from echomq.resp.reply import Reply

__all__ = ["Unblock", "recall", "say_goodbye"]

Unblock: TypeAlias = Callable[[int], Awaitable[bool]]

_GOODBYE_S: Final = 0.5

# The first pause between two tries, while the call may not have come to the server yet. It doubles.
_AGAIN_S: Final = 0.005


async def recall(link: Link, answer: "asyncio.Future[Reply]", unblock: Unblock) -> None:
    """Have the server answer the call that waits there, or give up the link. Then `answer` is done.

    Another connection tells the server, and what the server did before comes as the answer. Where that cannot be (the
    user may not do it, the server is silent) the link is closed, and what the server did just then is lost.
    """
    with suppress(EchoMQError, TimeoutError):
        async with asyncio.timeout(_GOODBYE_S):
            await _unblock(link, answer, unblock)
    if not answer.done():
        await say_goodbye(link)


async def say_goodbye(link: Link) -> None:
    """End our half of the stream and wait for the peer to end its own, which it does when it has read our end."""
    if link.transport is None or link.transport.is_closing():
        return
    link.end_writing()
    await asyncio.wait([link.ended], timeout=_GOODBYE_S)
    if not link.ended.done():
        link.drop(Closed("the server was silent as this link was closed"))


async def _unblock(link: Link, answer: "asyncio.Future[Reply]", unblock: Unblock) -> None:
    number = None if link.connection.greeted is None else link.connection.greeted.client
    again_s = _AGAIN_S
    while number is not None and not answer.done():
        if await unblock(number):
            again_s = _GOODBYE_S
        await asyncio.wait([answer], timeout=again_s)
        again_s *= 2
