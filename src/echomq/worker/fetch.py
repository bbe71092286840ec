"""Asks for work when there is room, for as many jobs as there is room for, in one call.

While the server has more, the next ask follows as soon as a quarter of the slots is free, or nothing runs, or a free
slot has waited `gather_ms`: jobs of any length are claimed in batches, and no slot stays empty beside long jobs.
While the server has nothing, the worker parks for two beats, and its parking and asking together cost one command in
each. It looks after due and lapsed jobs itself then, at the instant that the server names: a slice, then it asks again.
Between the jobs of a stream it does not park but lingers for a moment and asks for what has gathered.

What cannot be done, since another program damaged the keys, is tried again after a wait that grows up to a beat.

A token that woke the worker is an obligation: its worth goes with the next ask, which hands on what is left of it, or,
when there is no room for an ask, back to the server. A worker whose asks leave work behind for a while says so like
one that found it without having been woken: whoever is parked then is woken, however its own wake-up was lost.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, assert_never

from echomq.batches import BATCH_MAX
from echomq.clock import Clock, Dice
from echomq.drivers.aio_parking import AioParking
from echomq.drivers.backoff import delay_ms
from echomq.errors import EchoMQError, Unknown
from echomq.jobs import Jobs
from echomq.records import Paused, Taken
from echomq.transitions.take import PARK_MS_MAX
from echomq.worker.alarm import Alarm
from echomq.worker.counts import WorkerCounts
from echomq.worker.hold import Hold
from echomq.worker.idle import BEAT, Idle, worth_of
from echomq.worker.linger import Linger
from echomq.worker.log import LOG
from echomq.worker.options import WorkerOptions
from echomq.worker.repeats import Repeats
from echomq.worker.service import Service, is_final
from echomq.worker.upkeep import Upkeep
from echomq.worker.vain import Vain

__all__ = ["Fetch"]

_WAIT_MAX_MS: Final = 2_000

# Work that is left behind for so long is told to whoever may be parked: a worker that was killed on its way from a
# wake-up to its ask, or a program that leaves one token for a flood (W27), strands nobody for longer.
_LEFT_MS: Final = 100
_WAKE_S: Final = 1.0

# So many rounds in a row that brought nothing are followed at once: other workers may have been quicker.
_VAIN_AT_ONCE: Final = 3


class Fetch(Service):
    """Claims jobs and hands them to `on_claimed`. `free` says how many more fit now.

    When it is told to stop, an ask on its way is waited for, since its jobs are leased already: `on_claimed` gets them
    all the same and has to hand them back.
    """

    def __init__(
        self,
        jobs: Jobs,
        options: WorkerOptions,
        counts: WorkerCounts,
        upkeep: Upkeep,
        *,
        clock: Clock,
        dice: Dice,
        new_parking: Callable[[], Awaitable[AioParking]],
        free: Callable[[], int],
        on_claimed: Callable[[Sequence[Hold]], None],
    ) -> None:
        super().__init__("fetch")
        self._jobs = jobs
        self._options = options
        self._counts = counts
        self._upkeep = upkeep
        self._clock = clock
        self._dice = dice
        self._free = free
        self._on_claimed = on_claimed
        self._batch = max(1, options.concurrency // 4)
        self._park_ms = min(2 * options.beat_ms, PARK_MS_MAX)
        self._watcher = secrets.token_hex(8)
        self._room = asyncio.Event()
        self._plenty = asyncio.Event()
        self._failures = 0
        self._repeats = Repeats()
        self._idle = Idle(jobs.queue, counts, new_parking=new_parking, on_held=self._room.set)
        self._linger = Linger(options.gather_ms)
        self._alarm = Alarm(self._rings)
        self._worth = b""
        self._left_since_ms: int | None = None
        most_ms = min(options.beat_ms, _WAIT_MAX_MS)
        self._dues = Vain(dice, at_once=_VAIN_AT_ONCE, most_ms=most_ms)
        self._empties = Vain(dice, at_once=_VAIN_AT_ONCE, most_ms=most_ms)
        self._held_up_repeats = Repeats()
        self._asks_at_once = False
        self._asks_later = False
        self._has_rung = False
        self.is_idle = False
        """Whether the last answer was that there is nothing to do: upkeep rests, since asking and parking do it."""

    def freed(self, *, is_last: bool) -> None:
        """Say that a slot has become free. `is_last`: nothing else runs."""
        self._room.set()
        if is_last or self._free() >= self._batch:
            self._plenty.set()

    def scheduled(self, delay_ms: int) -> None:
        """Say that a job of ours was put into `schedule`, due after this time: nobody else is told of it."""
        if not self.is_stopping:
            self._alarm.due_in(delay_ms)

    def stop(self) -> None:
        """Ask no more."""
        super().stop()
        self._idle.wake()
        self._linger.hurry()
        self._room.set()
        self._plenty.set()

    async def _serve(self) -> None:
        try:
            while (size := await self._enough_room()) > 0:
                try:
                    await self._ask(min(size, BATCH_MAX))
                except EchoMQError as error:
                    if is_final(error):
                        raise
                    self.is_idle = False
                    await self._failed(error)
        finally:
            self._alarm.stop()
            self._worth = await self._idle.close() or self._worth
        await self._leave()

    # --- room -------------------------------------------------------------------------------------------------------

    async def _enough_room(self) -> int:
        """Wait until it is worth asking and return how many jobs fit; 0 when it is time to stop."""
        at_once, self._asks_at_once = self._asks_at_once, False
        if self.is_stopping:
            return 0
        if self._free() >= (1 if at_once else self._batch):
            return self._free()
        with self._upkeep_does_what_rings():
            return await self._until_room()

    async def _until_room(self) -> int:
        self._plenty.clear()
        while self._free() <= 0 and not self.is_stopping:
            if self._worth or self._idle.holds_token:
                await self._pass_on(self._worth or self._idle.take_held())
                continue
            self._room.clear()
            await self._room.wait()
        if self._options.gather_ms and not self._plenty.is_set():
            try:
                async with asyncio.timeout(self._options.gather_ms / 1000):
                    await self._plenty.wait()
            except TimeoutError:
                pass
        return 0 if self.is_stopping else self._free()

    # --- asking -----------------------------------------------------------------------------------------------------

    async def _ask(self, size: int) -> None:
        sent_ms = self._clock.monotonic_ms()
        self._worth = self._worth or self._idle.take_held() or self._of_what_is_left(sent_ms)
        self._alarm.asked()
        answer = await self._jobs.take(
            lease_ms=self._options.lease_ms,
            size=size,
            worth=self._worth,
            watcher=self._watcher,
            park_ms=self._park_ms,
        )
        worth, self._worth = self._worth, b""
        if self._failures:
            self._failures = 0
            self._repeats.over()
        match answer:
            case Paused():
                self.is_idle = False
                self._left_since_ms = None
                await self._park(self._park_ms)
            case Taken():
                self._note_taken(answer, worth, sent_ms)
                self.is_idle = len(answer.jobs) < size and not answer.more
                if self.is_idle:
                    await self._wait(answer)
                elif not answer.jobs and not answer.broken:
                    await self._held_up()
            case _:
                assert_never(answer)

    def _note_taken(self, answer: Taken, worth: bytes, sent_ms: int) -> None:
        jobs = answer.jobs
        if answer.broken:
            self._note_broken(answer)
        if jobs:
            self._counts.claimed += len(jobs)
            deadline_ms = sent_ms + self._options.lease_ms
            self._on_claimed([Hold(job, deadline_ms=deadline_ms) for job in jobs])
        elif worth not in (b"", BEAT):
            self._counts.woken_in_vain += 1
        self._linger.asked(len(jobs))
        if not answer.more:
            self._left_since_ms = None
        elif self._left_since_ms is None:
            self._left_since_ms = sent_ms
        if jobs or answer.broken:
            self._dues.over()
        if jobs or answer.broken or not answer.more:
            self._empties.over()
            self._held_up_repeats.over()

    def _of_what_is_left(self, now_ms: int) -> bytes:
        """Return the worth to tell when our asks have left work behind for a while: that of one who was not woken."""
        since_ms = self._left_since_ms
        if since_ms is None or now_ms - since_ms < _LEFT_MS:
            return b""
        self._left_since_ms = now_ms
        return BEAT

    async def _wait(self, answer: Taken) -> None:
        """Do what is due, or park until something is, or somebody wakes us."""
        self._has_rung = False
        if not answer.due:
            self._dues.over()
            watches = answer.wait_ms < self._park_ms
            self._alarm.answered(answer.wait_ms if watches else None)
            if self._linger.is_on:
                await self._gather(answer.wait_ms)
            else:
                await self._park(answer.wait_ms)
            return
        self._asks_at_once = True
        if await self._upkeep.catch_up():
            self._dues.over()
        elif wait_ms := self._dues.wait_ms():
            self.is_idle = False  # nobody can promise to watch meanwhile, so upkeep goes by its own clock
            await self._park(wait_ms)

    async def _held_up(self) -> None:
        """Wait, when it comes to that, since the server says that there is more and gives none of it.

        Not parked: a wake-up that cannot be used is handed on, and would come back to us.
        """
        wait_ms = self._empties.wait_ms()
        if not wait_ms:
            return
        self._counts.errors += 1
        LOG.log(
            logging.ERROR if self._held_up_repeats.is_loud("held up") else logging.DEBUG,
            "queue %s: jobs wait in lanes that cannot be served, because their keys are damaged: another program"
            " wrote to them",
            self._jobs.queue,
        )
        with self._upkeep_does_what_rings():
            await self._pause(wait_ms)

    async def _park(self, wait_ms: float) -> None:
        left_ms = self._alarm.left_ms
        self._worth = await self._idle.wait(wait_ms if left_ms is None else min(wait_ms, left_ms))
        self._asks_at_once = True
        if self._worth == BEAT:
            self._linger.over()
            return
        self._linger.woken()
        # A token that is worth a batch, or all our slots, has its company already, and may be meant for others as well.
        if self._linger.is_on and worth_of(self._worth) < min(self._free(), max(2, self._batch)):
            await self._gather(self._park_ms)

    async def _gather(self, most_ms: float) -> None:
        """Let jobs gather, unless there is something else to do. Those that come now leave tokens, which lie there."""
        self._asks_at_once = True
        if not self._has_rung and not self.is_stopping:
            await self._linger.wait(most_ms)

    def _rings(self) -> None:
        """Act on the alarm: ask when parked, else let upkeep do it. An ask on its way learns by itself what is due."""
        self._has_rung = True
        self._linger.hurry()
        if self._idle.is_waiting:
            self._idle.wake()
        elif self._asks_later:
            self._nudge_if_rung()

    @contextlib.contextmanager
    def _upkeep_does_what_rings(self) -> Iterator[None]:
        """Have upkeep act on the alarm while we neither ask nor park."""
        self._asks_later = True
        self._nudge_if_rung()
        try:
            yield
        finally:
            self._asks_later = False

    def _nudge_if_rung(self) -> None:
        if self._has_rung:
            self._has_rung = False
            self._upkeep.nudge()

    # --- tokens -----------------------------------------------------------------------------------------------------

    async def _pass_on(self, worth: bytes) -> None:
        """Give a token to somebody who has room. A failure costs the others a beat."""
        self._worth = b""
        if worth in (b"", BEAT):
            return
        await self._wake(worth_of(worth), watcher=None)

    async def _leave(self) -> None:
        """Pass on the token that came last, or may have come, and let somebody else watch for due jobs."""
        if self._idle.has_parked and not self._failures:
            await self._wake(1 if self._worth in (b"", BEAT) else worth_of(self._worth), watcher=self._watcher)

    async def _wake(self, worth: int, *, watcher: str | None) -> None:
        try:
            async with asyncio.timeout(_WAKE_S):
                await self._jobs.wake(worth=worth, watcher=watcher)
        except (EchoMQError, TimeoutError) as error:
            LOG.debug("queue %s: a wake-up could not be passed on: %r", self._jobs.queue, error)

    # --- what goes wrong --------------------------------------------------------------------------------------------

    def _note_broken(self, answer: Taken) -> None:
        self._counts.broken += len(answer.broken)
        LOG.error(
            "queue %s: the rows or keys of %s are damaged, another program wrote to them: they were moved to dead",
            self._jobs.queue,
            ", ".join(map(str, answer.broken)),
        )

    async def _failed(self, error: EchoMQError) -> None:
        self._counts.errors += 1
        level = logging.WARNING if self._repeats.is_loud(f"{type(error).__name__} {error}") else logging.DEBUG
        if isinstance(error, Unknown):
            LOG.log(
                level,
                "queue %s: jobs may have been claimed, and nobody runs them until their lease of %d ms lapses: %s",
                self._jobs.queue,
                self._options.lease_ms,
                error,
            )
        else:
            LOG.log(level, "queue %s: asking for work failed and is tried again: %s", self._jobs.queue, error)
        wait_ms = delay_ms(self._failures, self._dice, first_ms=50, last_ms=_WAIT_MAX_MS)
        self._failures += 1
        await self._pause(wait_ms)
