"""How a worker waits between its asks: the server keeps the next one, or it parks, or it lingers for a moment.

While the server keeps an ask nothing else may claim, since the free slots are promised to it. So the alarm has upkeep
do what is due then, and what becomes ready answers the ask; it ends the other two, and an ask follows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from echomq.records import Awaited
from echomq.worker.idle import BEAT, Idle, NewAsk, worth_of
from echomq.worker.linger import Linger
from echomq.worker.vain import Vain
from echomq.worker.watch import Watch

__all__ = ["Wait", "Waiting"]


@dataclass(frozen=True, slots=True)
class Wait:
    """How to wait before the next ask: `ms` at most, by tokens only where an ask would be answered at once."""

    ms: float
    by_tokens: bool = False


class Waiting:
    """Waits for one worker. `nudge` has upkeep do what is due; `vain` counts kept asks that came back at once."""

    def __init__(self, idle: Idle, *, gather_ms: int, nudge: Callable[[], None], vain: Vain) -> None:
        self.watch = Watch(nudge)
        self.linger = Linger(gather_ms)
        self._idle = idle
        self._vain = vain
        self._is_stopping = False

    def stop(self) -> None:
        """End the wait, and those to come at once."""
        self._is_stopping = True
        self._idle.wake()
        self.linger.hurry()

    def after(self, ms: float, waited_ms: int | None) -> Wait:
        """Return how to wait after an answer that brought nothing.

        `waited_ms` is for how long the ask was kept, None if it was not to. One that was to and comes back at once,
        time after time (the server evicts the watch, or others write it), is followed by ever longer waits by tokens.
        """
        if waited_ms:
            self._vain.over()
        elif waited_ms == 0 and (pause_ms := self._vain.wait_ms()):
            return Wait(min(ms, pause_ms), by_tokens=True)
        return Wait(ms)

    async def keep(self, new_ask: NewAsk, most_ms: float) -> Awaited | None:
        """Have the server keep an ask until there is work, and return the answer. None: it cannot be, so `park`.

        Raises what `Idle.ask` raises.
        """
        with self.watch.does(self._act_while_asking):
            awaited = await self._idle.ask(new_ask, self.watch.until_ms(most_ms))
        if awaited is not None and awaited.answer is None:
            self.linger.over()
        return awaited

    async def park(self, wait_ms: float, *, room: Callable[[], int], batch: int) -> bytes:
        """Park and return the worth to tell at the next ask. Where that pays, let jobs gather before it.

        A token that is worth a batch, or all the room, has its company already, and may be meant for others as well.
        """
        with self.watch.does(self._idle.wake):
            worth = await self._idle.wait(self.watch.until_ms(wait_ms))
        if worth == BEAT:
            self.linger.over()
            return worth
        self.linger.woken()
        if self.linger.is_on and worth_of(worth) < min(room(), max(2, batch)):
            await self.gather(wait_ms)
        return worth

    async def gather(self, most_ms: float) -> None:
        """Let jobs gather, unless there is something else to do. Those that come now leave tokens, which lie there."""
        if not self.watch.has_rung and not self._is_stopping:
            with self.watch.does(self.linger.hurry):
                await self.linger.wait(most_ms)

    def came(self, jobs: int, waited_ms: int | None) -> None:
        """Say that an answer brought so many jobs, for the pace of a stream. `waited_ms` as for `after`."""
        if waited_ms is None:
            self.linger.asked(jobs)
        elif jobs or waited_ms:
            self.linger.woken(jobs)
        if jobs:
            self._vain.over()

    def _act_while_asking(self) -> None:
        """Have what is due done. While a link is waited for there is no ask yet."""
        if self._idle.is_blocked:
            self.watch.nudge()
        else:
            self._idle.wake()
