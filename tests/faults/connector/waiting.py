"""Waiting until somebody waits on a server."""

import asyncio
from collections.abc import Awaitable, Callable

from echomq.drivers.aio import AioClient

__all__ = ["blocked", "eventually"]


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():  # noqa: ASYNC110 - a server gives no signal that somebody is blocked
        await asyncio.sleep(0.002)


async def blocked(client: AioClient, count: int) -> None:
    """Wait until so many connections are blocked on the server."""

    async def is_so() -> bool:
        info = await client.command("INFO", "clients")
        assert isinstance(info, bytes)
        return b"blocked_clients:%d\r\n" % count in info

    await eventually(is_so)
