"""How an idle worker waits for work: parked on the server, over a link of its own.

Whoever makes jobs ready leaves a token, which ends the wait of one parked worker; its text is how many wake-ups it is
worth (docs/wire.md, rule 12). What goes wrong with the link never ends a worker: it then finds work by asking alone.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from echomq.batches import BATCH_MAX
from echomq.drivers.aio_parking import AioParking
from echomq.errors import Closed, EchoMQError
from echomq.worker.counts import WorkerCounts
from echomq.worker.log import LOG
from echomq.worker.repeats import Repeats
from echomq.worker.service import is_final

__all__ = ["BEAT", "Idle", "worth_of"]

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

    async def _park(self, wait_ms: float) -> bytes | None:
        if self._parking is None:
            self._parking = await self._new_parking()
            self._parking.when_held(self._on_held)
        self.has_parked = True
        return None if self._woken.is_set() else await self._parking.park(wait_ms)

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
