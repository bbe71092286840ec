"""The next instant at which a worker has to look after due or lapsed jobs, as far as it knows by itself.

It knows two things: what it promised the server to watch for, and when the jobs are due that it put into `schedule`
itself, since those wake nobody. The answer to each ask that ends in parking replaces what was known when it was sent.
"""

import asyncio
from collections.abc import Callable

__all__ = ["Alarm"]


class Alarm:
    """Calls `ring` in the loop at the earliest instant noted. Only the earliest is kept: whoever it calls asks anew."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._known: float | None = None
        self._since_asked: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def left_ms(self) -> float | None:
        """How long until it rings; None when nothing is noted."""
        return None if self._timer is None else max(0.0, (self._timer.when() - self._loop.time()) * 1000)

    def due_in(self, delay_ms: float) -> None:
        """Note that the server has just put a job of ours into `schedule`, due after this time."""
        self._since_asked = _earlier(self._since_asked, self._loop.time() + delay_ms / 1000)
        self._set()

    def asked(self) -> None:
        """Say that an ask is about to be sent: the server knows all that was noted so far."""
        self._known, self._since_asked = _earlier(self._known, self._since_asked), None

    def answered(self, wait_ms: float | None) -> None:
        """Note the server's answer to the ask: watch for this instant (None: for nothing) beside what came since."""
        self._known = None if wait_ms is None else self._loop.time() + wait_ms / 1000
        self._set()

    def stop(self) -> None:
        """Ring no more."""
        self._known = self._since_asked = None
        self._set()

    def _set(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        at = _earlier(self._known, self._since_asked)
        self._timer = None if at is None else self._loop.call_at(at, self._rings)

    def _rings(self) -> None:
        self._known = self._since_asked = self._timer = None
        self._ring()


def _earlier(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
