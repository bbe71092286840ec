"""How many more jobs fit into a worker, and when that is worth an ask."""

import asyncio
from collections.abc import Callable

__all__ = ["Room"]


class Room:
    """The free slots. An ask is worth it when a quarter of them is free, when nothing runs, or after `gather_ms`."""

    def __init__(self, free: Callable[[], int], *, slots: int, gather_ms: int) -> None:
        self.free = free
        self.batch = max(1, slots // 4)
        self._gather_ms = gather_ms
        self._news = asyncio.Event()
        self._plenty = asyncio.Event()

    def freed(self, *, is_last: bool) -> None:
        """Say that a slot has become free. `is_last`: nothing else runs."""
        self._news.set()
        if is_last or self.free() >= self.batch:
            self._plenty.set()

    def look(self) -> None:
        """Have whoever waits for a slot look at what else there is."""
        self._news.set()

    def hurry(self) -> None:
        """End both waits."""
        self._news.set()
        self._plenty.set()

    def begin(self) -> None:
        """Say that a wait for room begins: what became free before may be gone."""
        self._plenty.clear()

    async def until_news(self) -> None:
        """Wait until a slot becomes free, or `look`."""
        self._news.clear()
        await self._news.wait()

    async def until_plenty(self) -> None:
        """Let free slots gather."""
        if not self._gather_ms or self._plenty.is_set():
            return
        try:
            async with asyncio.timeout(self._gather_ms / 1000):
                await self._plenty.wait()
        except TimeoutError:
            pass
