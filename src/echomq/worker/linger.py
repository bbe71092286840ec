"""Lets the jobs of a stream gather before an idle worker asks, instead of parking and asking for each of them.

- It begins when the ends of waits say that more than three jobs come in the time of a gathering, `SPAN_MAX_MS` at most
  whatever `gather_ms` is: while this worker waits, others may be parked, and nothing wakes them for these jobs.
- The worker then waits for that time, asks, and goes on so, without parking, while jobs come about as fast as before.
- It ends when they do not: the stream is over, or it is a chain, each of whose jobs enqueues the next, and waiting only
  slows it. After each such end twice as many occasions to begin are left out.

A job that comes when the worker has been parked for longer than a gathering is asked for at once.
"""

import asyncio
from typing import Final

__all__ = ["SPAN_MAX_MS", "Linger"]

SPAN_MAX_MS: Final = 2
"""No job is held back for longer."""

# No more jobs than this in the time of a gathering are not worth its delay.
_FEWEST: Final = 3

# So many jobs in one answer have gathered while an ask was on its way: there is nothing to gain.
_COMPANY: Final = 4

# Lingering goes on while jobs come at this part of the rate at which they came before, or more.
_PAYS: Final = 0.75

_LEFT_OUT_MAX: Final = 256


class Linger:
    """Knows whether to linger before the next ask (`is_on`), and does. The fetch tells it what happens."""

    def __init__(self, gather_ms: int) -> None:
        self._span_s = min(gather_ms, SPAN_MAX_MS) / 1000
        self._loop = asyncio.get_running_loop()
        self._hurry = asyncio.Event()
        self._since: float | None = None  # the end of the last wait, or the last ask while it is on
        self._found = 0  # jobs since the last wait ended
        # The time from one end of a wait to the next, and the jobs that came then: running means. Not the mean of their
        # quotients, since jobs that come in bursts look rare to the first wait of each.
        self._took, self._came = self._span_s, 1.0
        self._score: float | None = None  # jobs that came while it is on, in parts of those expected, a running mean
        self._penalty = 0
        self._left_out = 0
        self.is_on = False

    def woken(self, jobs: int = 0) -> None:
        """Note that a token, or these jobs, ended a wait: from here on `is_on` says whether to linger."""
        now, last, found = self._loop.time(), self._since, self._found
        self.is_on, self._since, self._found, self._score = False, now, jobs, None
        if last is None or not found:
            return
        took = min(now - last, self._span_s)
        self._took += (took - self._took) / 4
        self._came += (found - self._came) / 4
        is_stream = took < self._span_s and self._one_takes * _FEWEST < self._span_s
        if not is_stream or max(found, jobs) >= _COMPANY:
            return
        self.is_on = self._left_out == 0
        self._left_out = max(0, self._left_out - 1)

    def asked(self, found: int) -> None:
        """Note that an ask was answered with so many jobs: it goes on while that pays."""
        self._found += found
        if not self.is_on or self._since is None:
            return
        now = self._loop.time()
        score = found * self._one_takes / max(now - self._since, self._one_takes)
        self._score = score if self._score is None else (self._score + score) / 2
        self._since = now
        if found and self._score >= _PAYS:
            self._penalty = 0
            return
        self._penalty = min(self._penalty * 2 or 1, _LEFT_OUT_MAX)
        self.is_on, self._since, self._left_out = False, None, self._penalty

    def over(self) -> None:
        """Note that the stream is over: a wait ended since its time was."""
        self.is_on, self._since, self._took, self._came = False, None, self._span_s, 1.0

    @property
    def _one_takes(self) -> float:
        """The time in which one job comes."""
        return self._took / self._came

    def hurry(self) -> None:
        """End the wait."""
        self._hurry.set()

    async def wait(self, most_ms: float) -> None:
        """Wait for the time of a gathering, `most_ms` at most, or until `hurry`."""
        self._hurry.clear()
        try:
            async with asyncio.timeout(min(self._span_s, most_ms / 1000)):
                await self._hurry.wait()
        except TimeoutError:
            pass
