"""Who acts when the alarm rings: that depends on what the worker is at just then."""

import contextlib
from collections.abc import Callable, Iterator

from echomq.worker.alarm import Alarm

__all__ = ["Watch"]


class Watch:
    """Has the alarm, and what it does now. `nudge` has upkeep do what is due.

    While an ask is on its way nothing is done, since its answer says what is due; what rang by then and no answer
    spoke of is upkeep's as soon as there is no ask to come.
    """

    def __init__(self, nudge: Callable[[], None]) -> None:
        self.alarm = Alarm(self._rings)
        self.has_rung = False
        """Whether it has rung, and neither an answer nor upkeep has dealt with that yet."""
        self._nudge = nudge
        self._act: Callable[[], None] | None = None

    def rests(self) -> None:
        """Say that an answer left nothing to take: it spoke of all that has rung."""
        self.has_rung = False

    @contextlib.contextmanager
    def does(self, act: Callable[[], None]) -> Iterator[None]:
        """Have the alarm do this while the block runs."""
        self._act = act
        try:
            yield
        finally:
            self._act = None

    @contextlib.contextmanager
    def is_upkeeps(self) -> Iterator[None]:
        """Have upkeep act on the alarm while the block runs, and on what has rung before."""
        if self.has_rung:
            self.nudge()
        with self.does(self.nudge):
            yield

    def nudge(self) -> None:
        """Have upkeep do what is due."""
        self.has_rung = False
        self._nudge()

    def until_ms(self, wait_ms: float) -> float:
        """Return how long to wait, `wait_ms` at most, so that the wait ends when the alarm rings."""
        left_ms = self.alarm.left_ms
        return wait_ms if left_ms is None else min(wait_ms, left_ms)

    def _rings(self) -> None:
        self.has_rung = True
        if self._act is not None:
            self._act()
