"""How an idle worker waits for work: on the server, over a link of its own.

Where the server has the module it keeps the ask itself until there is work, and the answer brings that work. Else the
worker is parked: whoever makes jobs ready leaves a token, which ends the wait of one parked worker; its text is how
many wake-ups it is worth (docs/wire.md, rule 12). Which of the two it is, is found anew on each link. What goes wrong
with the link never ends a worker: it then finds work by asking alone.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from echomq.batches import BATCH_MAX
from echomq.drivers.aio_parking import AioParking
from echomq.errors import Closed, Disconnected, EchoMQError
from echomq.records import Awaited
from echomq.transitions.call import Call
from echomq.transitions.take import BLOCKING
from echomq.worker.counts import WorkerCounts
from echomq.worker.log import LOG
from echomq.worker.repeats import Repeats
from echomq.worker.service import is_final

__all__ = ["BEAT", "Idle", "NewAsk", "worth_of"]

NewAsk: TypeAlias = Callable[[], tuple[Call[Awaited], int]]
"""Makes a call that waits on the server, and says for how many ms at most."""

BEAT: Final = b"beat"
"""The worth that is told after a wait that no token ended."""


def worth_of(token: bytes) -> int:
    """Return how many wake-ups a token is worth. A text that says nothing is worth one, as other speakers take it."""
    is_number = token.isdigit() and len(token) <= len(str(BATCH_MAX))
    return min(max(int(token), 1), BATCH_MAX) if is_number else 1


class Idle:
    """Parks one task; any may wake it. The link is made at the first wait.

    `on_held` is called when a token comes while nobody waits: `take_held` gets it, and so does the next wait.
    """

    def __init__(
        self,
        queue: str,
        counts: WorkerCounts,
        *,
        new_parking: Callable[[], Awaitable[AioParking]],
        on_held: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._counts = counts
        self._new_parking = new_parking
        self._on_held = on_held
        self._parking: AioParking | None = None
        self._woken = asyncio.Event()
        self._repeats = Repeats()
        self.is_waiting = False
        self.is_blocked = False
        """Whether the server keeps an ask: it may claim jobs for us at any time, so nothing else asks meanwhile."""
        self.has_parked = False

    @property
    def holds_token(self) -> bool:
        """Whether a token came while nobody waited."""
        return self._parking is not None and self._parking.holds_token

    def take_held(self) -> bytes:
        """Return the worth of the token that is held, empty when there is none, and hold it no longer."""
        token = None if self._parking is None else self._parking.take_held()
        return b"" if token is None else self._noted(token)

    def wake(self) -> None:
        """End the wait now, or the next one at once."""
        self._woken.set()
        if self._parking is not None:
            self._parking.wake()

    async def ask(self, new_ask: NewAsk, within_ms: float) -> Awaited | None:
        """Have the server keep an ask until there is work, and return its answer. None: it cannot be, so `wait`.

        The ask is made, by `new_ask`, when a link is there that takes it, `within_ms` at most. Raises what
        `AioParking.ask` raises but that nothing was sent.
        """
        self.is_waiting = True
        try:
            parking = await self._fit_for_asks(within_ms)
            if parking is None or self._woken.is_set():
                return None
            self.is_blocked = self.has_parked = True
            call, block_ms = new_ask()
            awaited = await parking.ask(call, block_ms)
        except Disconnected:
            return None
        finally:
            self.is_waiting = self.is_blocked = False
        self._woken.clear()
        self._repeats.over()
        if awaited is not None and not awaited.may_wait:
            parking.park_only()
        return awaited

    async def wait(self, wait_ms: float) -> bytes:
        """Park for so long and return the worth to tell at the next ask: a token's, or `BEAT`."""
        until_s = asyncio.get_running_loop().time() + wait_ms / 1000
        self.is_waiting = True
        try:
            token = await self._park(wait_ms)
        except EchoMQError as error:
            await self._failed(error, until_s)
            token = None
        else:
            self._repeats.over()
        finally:
            self.is_waiting = False
            self._woken.clear()
        return BEAT if token is None else self._noted(token)

    async def close(self) -> bytes:
        """Leave, and return the worth of a token that came last and was not taken, empty when none did."""
        parking, self._parking = self._parking, None
        token = None if parking is None else await parking.close()
        return b"" if token is None else self._noted(token)

    async def _fit_for_asks(self, within_ms: float) -> AioParking | None:
        """Return the link if it takes asks that wait. What is wrong with it is for `wait` to tell."""
        try:
            parking = await self._opened()
            is_fit = not self._woken.is_set() and await parking.can_ask(BLOCKING, within_ms)
        except EchoMQError:
            return None
        return parking if is_fit else None

    async def _park(self, wait_ms: float) -> bytes | None:
        parking = await self._opened()
        self.has_parked = True
        return None if self._woken.is_set() else await parking.park(wait_ms)

    async def _opened(self) -> AioParking:
        if self._parking is None:
            self._parking = await self._new_parking()
            self._parking.when_held(self._on_held)
        return self._parking

    async def _failed(self, error: EchoMQError, until_s: float) -> None:
        """Wait without the server, and begin anew with a new link when this one is refused for good."""
        if is_final(error):
            await self.close()
            if isinstance(error, Closed):
                return  # the whole client was closed: the next ask says so
        self._counts.errors += 1
        LOG.log(
            logging.WARNING if self._repeats.is_loud(f"{type(error).__name__} {error}") else logging.DEBUG,
            "queue %s: parking failed, so work is found by asking alone, once in two beats: %s",
            self._queue,
            error,
        )
        try:
            async with asyncio.timeout_at(until_s):
                await self._woken.wait()
        except TimeoutError:
            pass

    def _noted(self, token: bytes) -> bytes:
        self._counts.woken += 1
        return b"%d" % worth_of(token)
