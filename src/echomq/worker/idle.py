"""How an idle worker waits for work.

Nothing on the server says yet that a job has come, so the worker asks: soon after it had work, then less and less
often, down to once a beat. This object is the only place that knows, so that a wake from the server can take its place.
"""

import asyncio
from typing import Final

__all__ = ["Idle"]

FIRST_MS: Final = 10


class Idle:
    """Waits that double from 10 ms to `beat_ms`. One task waits; any may wake it."""

    def __init__(self, *, beat_ms: int) -> None:
        self._beat_ms = beat_ms
        self._wait_ms = min(FIRST_MS, beat_ms)
        self._woken = asyncio.Event()

    @property
    def next_wait_ms(self) -> int:
        """How long the next wait is."""
        return self._wait_ms

    def found_work(self) -> None:
        """Begin again with short waits."""
        self._wait_ms = min(FIRST_MS, self._beat_ms)

    def wake(self) -> None:
        """End the wait now, or the next one at once: there is work, or it is time to stop."""
        self.found_work()
        self._woken.set()

    async def wait(self) -> None:
        """Wait for the present length; the next wait is twice as long."""
        wait_ms, self._wait_ms = self._wait_ms, min(2 * self._wait_ms, self._beat_ms)
        await self._until_woken(wait_ms)

    async def wait_a_beat(self) -> None:
        """Wait for a whole beat: there may be work, but none for us now."""
        await self._until_woken(self._beat_ms)

    async def _until_woken(self, wait_ms: float) -> None:
        try:
            async with asyncio.timeout(wait_ms / 1000):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()
