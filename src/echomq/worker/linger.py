"""Lets the jobs of a stream gather before an idle worker asks, instead of parking and asking for each of them.

A token that comes within `gather_ms` after the last one says that jobs come in a stream. The worker then waits for
`gather_ms`, asks, and goes on so, without parking, while that pays. It does not pay where the producers wait for the
jobs: a chain, each of whose jobs enqueues the next, is only slower for it. So lingering is on trial: when fewer jobs
come in its time than came before, it ends, and the next streams are left alone, twice as many after each failure.
"""

import asyncio
from typing import Final

__all__ = ["Linger"]

# So many jobs in one answer: asks and jobs come at a rate at which jobs gather while an ask is on its way.
_COMPANY: Final = 4

# Lingering ends when jobs come at less than this part of the rate at which they came before.
_PAYS: Final = 0.75

_LEFT_OUT_MAX: Final = 256


class Linger:
    """Knows whether to linger before the next ask (`is_on`), and does. The fetch tells it what happens."""

    def __init__(self, gather_ms: int) -> None:
        self._gather_s = gather_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._hurry = asyncio.Event()
        self._woken_at: float | None = None
        self._found = 0
        self._one_takes: float | None = None
        self._since = 0.0
        self._recently = (0.0, 0.0)
        self._penalty = 0
        self._left_out = 0
        self.is_on = False

    def woken(self) -> None:
        """Note that a token ended a wait: from here on `is_on` says whether to linger."""
        self.is_on = False
        now = self._loop.time()
        last, self._woken_at = self._woken_at, now
        found, self._found = self._found, 0
        if last is None or not found or now - last >= self._gather_s:
            self._one_takes = None
            return
        one_took = (now - last) / found
        self._one_takes = one_took if self._one_takes is None else self._one_takes + (one_took - self._one_takes) / 4
        if found >= _COMPANY:
            return
        if self._left_out:
            self._left_out -= 1
            return
        self.is_on, self._since, self._recently = True, now, (0.0, 0.0)

    def asked(self, found: int) -> None:
        """Note that an ask was answered with so many jobs."""
        self._found += found
        if not self.is_on:
            return
        now = self._loop.time()
        jobs, lasted = self._recently
        jobs, lasted = jobs * 0.75 + found, lasted * 0.75 + now - self._since
        self._since, self._recently = now, (jobs, lasted)
        if found and self._one_takes is not None and jobs * self._one_takes >= lasted * _PAYS:
            self._penalty = 0
            return
        self._penalty = min(self._penalty * 2 or 1, _LEFT_OUT_MAX)
        self._left_out = self._penalty
        self.over()

    def over(self) -> None:
        """Note that the stream is over: a wait ended without a token."""
        self.is_on = False
        self._woken_at = None

    def hurry(self) -> None:
        """End the wait."""
        self._hurry.set()

    async def wait(self, most_ms: float) -> None:
        """Wait for `gather_ms`, `most_ms` at most, or until `hurry`."""
        self._hurry.clear()
        try:
            async with asyncio.timeout(min(self._gather_s, most_ms / 1000)):
                await self._hurry.wait()
        except TimeoutError:
            pass
