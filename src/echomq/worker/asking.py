"""What a worker tells the server with each ask, what it learns from the answers beside the jobs, and how it leaves.

A token that woke the worker is an obligation: its worth goes with the next ask, which hands on what is left of it, or,
when there is no room for an ask, back to the server. A worker whose asks leave work behind for a while says so like
one that found it without having been woken: whoever is parked then is woken, however its own wake-up was lost.
"""

import asyncio
import logging
import secrets
from dataclasses import dataclass
from typing import Final

from echomq.clock import Clock
from echomq.errors import EchoMQError, Unknown
from echomq.jobs import Jobs
from echomq.records import Awaited, Paused, Taken
from echomq.transitions.call import Call
from echomq.transitions.take import PARK_MS_MAX, take_blocking
from echomq.worker.counts import WorkerCounts
from echomq.worker.idle import BEAT, worth_of
from echomq.worker.log import LOG
from echomq.worker.options import WorkerOptions
from echomq.worker.repeats import Repeats

__all__ = ["Asking", "Sent"]

# Work that is left behind for so long is told to whoever may be parked: a worker that was killed on its way from a
# wake-up to its ask, or a program that leaves one token for a flood (W27), strands nobody for longer.
_LEFT_MS: Final = 100
_WAKE_S: Final = 1.0

# A server may end a wait so late. Whoever waits offers so much more, so that it is told of what is due until then.
_SERVER_LATE_MS: Final = 100


@dataclass(frozen=True, slots=True)
class Sent:
    """One ask: for how many jobs, with which worth, offering to park for how long, and the local instant before it."""

    size: int
    worth: bytes
    park_ms: int
    at_ms: int

    @property
    def is_woken(self) -> bool:
        """Whether a token led to it."""
        return self.worth not in (b"", BEAT)


class Asking:
    """Makes the asks of one worker. `park_ms` is how long it offers to park. `worth` is what the next ask tells."""

    def __init__(self, jobs: Jobs, options: WorkerOptions, counts: WorkerCounts, clock: Clock) -> None:
        self._jobs = jobs
        self._lease_ms = options.lease_ms
        self._counts = counts
        self._clock = clock
        self._watcher = secrets.token_hex(8)
        self._left_since_ms: int | None = None
        self._repeats = Repeats()
        self.park_ms = min(2 * options.beat_ms, PARK_MS_MAX)
        self.worth = b""

    # --- asks -------------------------------------------------------------------------------------------------------

    def begin(self, size: int, held: bytes, *, waits: bool = False) -> Sent:
        """Return an ask that is about to be sent. `held` is the worth of a token that came while nobody waited."""
        now_ms = self._clock.monotonic_ms()
        self.worth = self.worth or held or self._of_what_is_left(now_ms)
        park_ms = min(self.park_ms + _SERVER_LATE_MS, PARK_MS_MAX) if waits else self.park_ms
        return Sent(size, self.worth, park_ms, now_ms)

    async def take(self, sent: Sent) -> Taken | Paused:
        """Ask, and have the answer at once."""
        return await self._jobs.take(
            lease_ms=self._lease_ms,
            size=sent.size,
            worth=sent.worth,
            watcher=self._watcher,
            park_ms=sent.park_ms,
        )

    def blocking(self, sent: Sent) -> tuple[Call[Awaited], int]:
        """Return an ask that waits on the server, and for how long at most, in ms."""
        block_ms = max(1, sent.park_ms - _SERVER_LATE_MS)
        call = take_blocking(
            self._jobs.keys,
            lease_ms=self._lease_ms,
            size=sent.size,
            worth=sent.worth,
            watcher=self._watcher,
            park_ms=sent.park_ms,
            block_ms=block_ms,
        )
        return call, block_ms

    def deadline_ms(self, sent: Sent, waited_ms: int = 0) -> int:
        """Return the local instant at which the leases of an answer end, never later than the server's.

        The server counts whole ms of its clock, so a wait that it calls n ms may have lasted a little less.
        """
        return sent.at_ms + max(0, waited_ms - 1) + self._lease_ms

    # --- answers ----------------------------------------------------------------------------------------------------

    def answered(self, answer: Taken | Paused | None) -> None:
        """Note an answer: the worth was told, and there may be work that was left behind."""
        self.worth = b""
        self._repeats.over()
        if not isinstance(answer, Taken) or not answer.more:
            self._left_since_ms = None
        elif self._left_since_ms is None:
            self._left_since_ms = self._clock.monotonic_ms()

    def count(self, answer: Taken, sent: Sent, waited_ms: int) -> None:
        """Count what came. `waited_ms`: for how long the server kept the ask."""
        self._counts.claimed += len(answer.jobs)
        if waited_ms:
            self._counts.woken += 1
        if (sent.is_woken or waited_ms) and not answer.jobs:
            self._counts.woken_in_vain += 1
        if answer.broken:
            self._counts.broken += len(answer.broken)
            LOG.error(
                "queue %s: the rows or keys of %s are damaged, another program wrote to them: they were moved to dead",
                self._jobs.queue,
                ", ".join(map(str, answer.broken)),
            )

    def failed(self, error: EchoMQError) -> None:
        """Count and tell that an ask failed."""
        self._counts.errors += 1
        level = logging.WARNING if self._repeats.is_loud(f"{type(error).__name__} {error}") else logging.DEBUG
        if isinstance(error, Unknown):
            LOG.log(
                level,
                "queue %s: jobs may have been claimed, and nobody runs them until their lease of %d ms lapses: %s",
                self._jobs.queue,
                self._lease_ms,
                error,
            )
        else:
            LOG.log(level, "queue %s: asking for work failed and is tried again: %s", self._jobs.queue, error)

    def _of_what_is_left(self, now_ms: int) -> bytes:
        """Return the worth to tell when our asks have left work behind for a while: that of one who was not woken."""
        since_ms = self._left_since_ms
        if since_ms is None or now_ms - since_ms < _LEFT_MS:
            return b""
        self._left_since_ms = now_ms
        return BEAT

    # --- tokens -----------------------------------------------------------------------------------------------------

    async def pass_on(self, worth: bytes) -> None:
        """Give a token to somebody who has room. A failure costs the others a beat."""
        self.worth = b""
        if worth not in (b"", BEAT):
            await self._wake(worth_of(worth), watcher=None)

    async def leave(self) -> None:
        """Pass on the token that came last, or may have come, and let somebody else watch for due jobs."""
        await self._wake(1 if self.worth in (b"", BEAT) else worth_of(self.worth), watcher=self._watcher)

    async def _wake(self, worth: int, *, watcher: str | None) -> None:
        try:
            async with asyncio.timeout(_WAKE_S):
                await self._jobs.wake(worth=worth, watcher=watcher)
        except (EchoMQError, TimeoutError) as error:
            LOG.debug("queue %s: a wake-up could not be passed on: %r", self._jobs.queue, error)
