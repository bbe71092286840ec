"""When a failed job runs again, as a pure function of the attempt and the dice."""

from dataclasses import dataclass
from typing import Self

from echomq.clock import Dice
from echomq.errors import InvalidOption
from echomq.transitions.checks import check_number

__all__ = ["Backoff"]

_EXPONENT_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The wait after a failed attempt: `first_ms` times `factor` for each attempt before, up to `last_ms`.

    `jitter` is the share of the wait that is drawn by lot, 0.0 (none) to 1.0 (full jitter: anything from 0 to the
    wait), so that jobs that failed together do not all come back together. Waits grow because a retried job returns to
    its mint place, ahead of younger jobs: a set of old failing jobs would otherwise stand in the way of fresh ones
    (weakness W32 of the protocol). Raises `InvalidOption` for a value outside its range.
    """

    first_ms: int = 1_000
    last_ms: int = 15 * 60_000
    factor: float = 2.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        check_number("first_ms", self.first_ms)
        check_number("last_ms", self.last_ms, least=self.first_ms)
        if not _is_number(self.factor) or not 1.0 <= self.factor <= 100.0:
            raise InvalidOption("factor", self.factor, "1.0 to 100.0")
        if not _is_number(self.jitter) or not 0.0 <= self.jitter <= 1.0:
            raise InvalidOption("jitter", self.jitter, "0.0 to 1.0")

    @classmethod
    def fixed(cls, delay_ms: int, *, jitter: float = 0.0) -> Self:
        """Return a policy that waits the same time after every attempt."""
        return cls(first_ms=delay_ms, last_ms=delay_ms, factor=1.0, jitter=jitter)

    def delay_ms(self, attempt: int, dice: Dice) -> int:
        """Return the wait after this attempt, counted from 1, in ms: 0 to `last_ms`."""
        grown = self.first_ms * self.factor ** min(max(attempt, 1) - 1, _EXPONENT_MAX)
        wait = min(grown, float(self.last_ms))
        return int(wait * (1.0 - self.jitter + self.jitter * dice.fraction()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
