"""Rounds of one loop that brought nothing although there is something to do: it must neither spin nor give up."""

from typing import Final

from echomq.clock import Dice
from echomq.drivers.backoff import delay_ms

__all__ = ["Vain"]

_FIRST_MS: Final = 20


class Vain:
    """Counts such rounds in a row, and says how long to wait before the next one.

    The first `at_once` are followed at once, since others may just have done what there was. Then the wait doubles,
    from some 20 ms up to `most_ms`, half of it more by lot.
    """

    def __init__(self, dice: Dice, *, at_once: int, most_ms: int) -> None:
        self._dice = dice
        self._at_once = at_once
        self._most_ms = most_ms
        self._rounds = 0

    def wait_ms(self) -> float:
        """Note one more round in vain, and return how long to wait; 0: not at all."""
        self._rounds += 1
        late = self._rounds - self._at_once
        return 0 if late <= 0 else delay_ms(late - 1, self._dice, first_ms=_FIRST_MS, last_ms=self._most_ms)

    def over(self) -> None:
        """Note that something was brought."""
        self._rounds = 0
