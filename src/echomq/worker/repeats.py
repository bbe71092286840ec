"""Which of many equal failures in a row deserve a log line: a fault that lasts must be seen, and must not bury the log.

Counted, not timed, so that it needs no clock: loops that fail wait longer each time, which bounds how often they ask.
"""

from typing import Final

__all__ = ["Repeats"]

_EVERY: Final = 64


class Repeats:
    """Counts failures in a row. `is_loud` is True for the first of a kind, the 2nd, 4th, 8th … and each 64th.

    Lines left out are for DEBUG. `over` ends the row.
    """

    __slots__ = ("_kind", "_times")

    def __init__(self) -> None:
        self._kind = ""
        self._times = 0

    def is_loud(self, kind: str) -> bool:
        """Count one more failure, and say whether to log it at its level. Another kind begins a row of its own."""
        if kind != self._kind:
            self._kind, self._times = kind, 0
        self._times += 1
        return self._times & (self._times - 1) == 0 or self._times % _EVERY == 0

    def over(self) -> int:
        """End the row and return how many failures of the last kind it had."""
        times, self._kind, self._times = self._times, "", 0
        return times
