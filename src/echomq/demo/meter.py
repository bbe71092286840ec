"""How fast it goes: when to look again, how many jobs a second lately, and for how long nothing has moved."""

from collections import deque
from typing import Final

from echomq.clock import SYSTEM_CLOCK, Clock

__all__ = ["Meter"]

LOOK_EVERY_MS: Final = 50
_MARKS: Final = 20  # the speed is that of the last second


class Meter:
    """Takes the number of jobs done at each look."""

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._next_ms = 0
        self._moved_ms = clock.monotonic_ms()
        self._marks: deque[tuple[int, int]] = deque(maxlen=_MARKS)

    def is_due(self) -> bool:
        """Say whether it is time to look again; if so, the next time is a moment later."""
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + LOOK_EVERY_MS
        return True

    def note(self, done: int) -> None:
        """Take the number of jobs done so far."""
        now_ms = self._clock.monotonic_ms()
        if not self._marks or done != self._marks[-1][1]:
            self._moved_ms = now_ms
        self._marks.append((now_ms, done))

    @property
    def per_s(self) -> float:
        """Jobs a second over the last looks."""
        if not self._marks:
            return 0.0
        (from_ms, from_done), (to_ms, to_done) = self._marks[0], self._marks[-1]
        return (to_done - from_done) / max((to_ms - from_ms) / 1000, 0.001)

    @property
    def standstill_ms(self) -> int:
        """How long the number has been the same, in ms."""
        return self._clock.monotonic_ms() - self._moved_ms
