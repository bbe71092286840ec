"""The clock and the dice, as protocols, with the real ones.

No score, lease or due time comes from this clock: those are the server's. It is for minting ids, for back-off and for
time-outs on our own side.
"""

import random
import time
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "SYSTEM_DICE", "Clock", "Dice"]


class Clock(Protocol):
    """A source of time."""

    def unix_ms(self) -> int:
        """Return the wall clock, in whole milliseconds since 1970."""
        ...

    def monotonic_ms(self) -> int:
        """Return a clock that never goes back, in whole milliseconds from an arbitrary start."""
        ...


class Dice(Protocol):
    """A source of chance."""

    def fraction(self) -> float:
        """Return a number from 0.0 up to, not including, 1.0."""
        ...


class _SystemClock:
    __slots__ = ()

    def unix_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class _SystemDice:
    __slots__ = ()

    def fraction(self) -> float:
        return random.random()  # noqa: S311 - jitter, not a secret


SYSTEM_CLOCK: Clock = _SystemClock()
SYSTEM_DICE: Dice = _SystemDice()
