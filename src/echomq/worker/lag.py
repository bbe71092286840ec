"""Measures from another thread how long the event loop does not turn, and says which job holds it up."""

import asyncio
import sys
from collections.abc import Callable

from echomq.clock import Clock
from echomq.worker.hold import Hold
from echomq.worker.log import LOG

__all__ = ["LagWatch"]

_JOBS_NAMED_MAX = 10


class LagWatch:
    """Sends the loop a ping and looks whether it came back. `look` is called by the watching thread, again and again.

    A warning is logged when the loop did not answer for `warn_ms`, again each time the lag has doubled, and once more
    when the loop is back. Made in the loop's thread.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, thread_id: int, *, queue: str, warn_ms: int, clock: Clock
    ) -> None:
        self._loop = loop
        self._thread_id = thread_id
        self._queue = queue
        self._warn_ms = warn_ms
        self._clock = clock
        self._sent_ms: int | None = None
        self._back_ms: int | None = None
        self._next_warning_ms = warn_ms
        self.largest_ms = 0

    def look(self, running: Callable[[], list[Hold]]) -> None:
        """Send a ping, or judge the one on its way. `running` gives the jobs to name. Raises on a closed loop."""
        now_ms = self._clock.monotonic_ms()
        if self._sent_ms is not None:
            lag_ms = (now_ms if self._back_ms is None else self._back_ms) - self._sent_ms
            self.largest_ms = max(self.largest_ms, lag_ms)
            if self._back_ms is None:
                if lag_ms >= self._next_warning_ms:
                    self._next_warning_ms = 2 * lag_ms
                    self._warn(lag_ms, running())
                return
            if self._next_warning_ms > self._warn_ms:
                LOG.warning("queue %s: the event loop turns again, after %d ms", self._queue, lag_ms)
                self._next_warning_ms = self._warn_ms
        self._sent_ms, self._back_ms = now_ms, None
        self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._back_ms = self._clock.monotonic_ms()

    def _warn(self, lag_ms: int, running: list[Hold]) -> None:
        current = asyncio.current_task(self._loop)
        culprits = [hold for hold in running if hold.task is not None and hold.task is current] or running
        names = ", ".join(map(repr, culprits[:_JOBS_NAMED_MAX]))
        more = "" if len(culprits) <= _JOBS_NAMED_MAX else f" and {len(culprits) - _JOBS_NAMED_MAX} more"
        LOG.warning(
            "queue %s: the event loop has not turned for %d ms while it ran %s%s, now at %s; leases are renewed all the"
            " same, but nothing else runs: use a plain function for blocking work",
            self._queue,
            lag_ms,
            names or "no job",
            more,
            self._place(),
        )

    def _place(self) -> str:
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 - documented, and there is no other way
        return "an unknown place" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
