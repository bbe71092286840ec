"""Lets the jobs of a stream gather before an idle worker asks, instead of parking and asking for each of them.

Jobs come in a stream when `gather_ms` brings more than three of them, going by the last tokens. The worker then waits
for `gather_ms`, asks, and goes on so, without parking, while that pays. A job that comes when the worker has been
parked for longer than that is asked for at once.

Lingering does not pay where the producers wait for the jobs: a chain, each of whose jobs enqueues the next, is only
slower for it. So it is on trial: when fewer jobs come in its time than came before, it ends, and the next times that it
could begin are left out, twice as many after each failure.
"""

import asyncio
from typing import Final

__all__ = ["Linger"]

# No more jobs than this in the time of a gathering are not worth its delay.
_FEWEST: Final = 3

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
        self._one_takes = self._gather_s
        self._since = 0.0
        self._recently = (0.0, 0.0)
        self._penalty = 0
        self._left_out = 0
        self.is_on = False

    def woken(self) -> None:
        """Note that a token ended a wait: from here on `is_on` says whether to linger."""
        self.is_on = False
        now, found = self._loop.time(), self._found
        last, self._woken_at, self._found = self._woken_at, now, 0
        if last is None or not found:
            return
        one_took = min(now - last, self._gather_s) / found
        self._one_takes += (one_took - self._one_takes) / 4
        is_stream = now - last < self._gather_s and self._one_takes * _FEWEST < self._gather_s
        if not is_stream or found >= _COMPANY:
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
        if found and jobs * self._one_takes >= lasted * _PAYS:
            self._penalty = 0
            return
        self._penalty = min(self._penalty * 2 or 1, _LEFT_OUT_MAX)
        self._left_out = self._penalty
        self.is_on, self._woken_at = False, None

    def over(self) -> None:
        """Note that the stream is over: a wait ended without a token."""
        self.is_on, self._woken_at, self._one_takes = False, None, self._gather_s

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
