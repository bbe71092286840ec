"""Asks for work when there is room, for as many jobs as there is room for, in one call.

While the server has more, the next ask follows as soon as a quarter of the slots is free, or nothing runs, or a free
slot has waited `gather_ms`: jobs of any length are claimed in batches, and no slot stays empty beside long jobs.

While the server has nothing, the worker waits there for two beats: where the server has the module the ask itself does,
else the worker parks, and its parking and asking together cost one command in each. It looks after due and lapsed jobs
itself then, at the instant that the server names: a slice, then it asks again. While the server keeps an ask nothing
else may claim, since the slots are promised to it: then upkeep does what is due, and what becomes ready answers the
ask. Between the jobs of a stream it does not wait there but lingers for a moment and asks for what has gathered.

What cannot be done, since another program damaged the keys, is tried again after a wait that grows up to a beat.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, assert_never

from echomq.batches import BATCH_MAX
from echomq.clock import Clock, Dice
from echomq.drivers.aio_parking import AioParking
from echomq.drivers.backoff import delay_ms
from echomq.errors import EchoMQError
from echomq.jobs import Jobs
from echomq.records import Awaited, Paused, Taken
from echomq.transitions.call import Call
from echomq.worker.asking import Asking, Sent
from echomq.worker.counts import WorkerCounts
from echomq.worker.held_up import HeldUp
from echomq.worker.hold import Hold
from echomq.worker.idle import BEAT, Idle
from echomq.worker.options import WorkerOptions
from echomq.worker.room import Room
from echomq.worker.service import Service, is_final
from echomq.worker.upkeep import Upkeep
from echomq.worker.vain import Vain
from echomq.worker.waiting import Wait, Waiting

__all__ = ["Fetch"]

_WAIT_MAX_MS: Final = 2_000

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
        self._counts = counts
        self._clock = clock
        self._upkeep = upkeep
        self._dice = dice
        self._on_claimed = on_claimed
        self._room = Room(free, slots=options.concurrency, gather_ms=options.gather_ms)
        self._asking = Asking(jobs, options, counts, clock)
        self._idle = Idle(jobs.queue, counts, new_parking=new_parking, on_held=self._room.look)
        self._failures = 0
        dues, empties, untold = [
            Vain(dice, at_once=_VAIN_AT_ONCE, most_ms=min(options.beat_ms, _WAIT_MAX_MS)) for _ in range(3)
        ]
        self._dues = dues
        self._held_up = HeldUp(jobs.queue, counts, empties)
        self._waiting = Waiting(self._idle, gather_ms=options.gather_ms, nudge=upkeep.nudge, vain=untold)
        self._watch = self._waiting.watch
        self._wait: Wait | None = None
        self._asks_at_once = False
        self.is_idle = False
        """Whether the last answer was that there is nothing to do: upkeep rests, since asking and waiting do it."""

    def freed(self, *, is_last: bool) -> None:
        """Say that a slot has become free. `is_last`: nothing else runs."""
        self._room.freed(is_last=is_last)

    def scheduled(self, delay_ms: int) -> None:
        """Say that a job of ours was put into `schedule`, due after this time: nobody else is told of it."""
        if not self.is_stopping:
            self._watch.alarm.due_in(delay_ms)

    def stop(self) -> None:
        """Ask no more."""
        super().stop()
        self._waiting.stop()
        self._room.hurry()

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
            self._watch.alarm.stop()
            self._asking.worth = await self._idle.close() or self._asking.worth
        if self._idle.has_parked and not self._failures:
            await self._asking.leave()

    # --- room -------------------------------------------------------------------------------------------------------

    async def _enough_room(self) -> int:
        """Wait until it is worth asking and return how many jobs fit; 0 when it is time to stop."""
        at_once, self._asks_at_once = self._asks_at_once, False
        if self.is_stopping:
            return 0
        if self._room.free() >= (1 if at_once else self._room.batch):
            return self._room.free()
        self._wait = None  # what the last answer said is old by then
        with self._watch.is_upkeeps():
            return await self._until_room()

    async def _until_room(self) -> int:
        self._room.begin()
        while self._room.free() <= 0 and not self.is_stopping:
            if self._asking.worth or self._idle.holds_token:
                await self._asking.pass_on(self._asking.worth or self._idle.take_held())
                continue
            await self._room.until_news()
        await self._room.until_plenty()
        return 0 if self.is_stopping else self._room.free()

    # --- asking -----------------------------------------------------------------------------------------------------

    async def _ask(self, size: int) -> None:
        """Ask, at once or by waiting as the last answer said, and act on the answer."""
        wait, self._wait = self._wait, None
        if wait is None:
            sent = self._begin(size, waits=False)
            await self._act_on(await self._asking.take(sent), sent)
            return
        until_ms = self._clock.monotonic_ms() + wait.ms
        if wait.by_tokens or not await self._ask_and_wait(size, wait.ms):
            left_ms = max(0, until_ms - self._clock.monotonic_ms())
            self._asking.worth = await self._waiting.park(left_ms, room=self._room.free, batch=self._room.batch)
            self._asks_at_once = True

    async def _ask_and_wait(self, size: int, most_ms: float) -> bool:
        """Ask so that the server keeps the ask until there is work, and act on the answer. False: it cannot be."""
        sent: list[Sent] = []

        def new_ask() -> tuple[Call[Awaited], int]:
            sent.append(self._begin(size, waits=True))
            return self._asking.blocking(sent[0])

        awaited = await self._waiting.keep(new_ask, most_ms)
        if awaited is None:
            return False
        if awaited.answer is None:
            self._failures = 0
            self._asking.answered(None)
            self._asking.worth = BEAT
            self._wait_next(Wait(self._asking.park_ms))
        else:
            await self._act_on(awaited.answer, sent[0], waited_ms=awaited.waited_ms)
        return True

    def _begin(self, size: int, *, waits: bool) -> Sent:
        self._watch.alarm.asked()
        return self._asking.begin(size, self._idle.take_held(), waits=waits)

    async def _act_on(self, answer: Taken | Paused, sent: Sent, *, waited_ms: int | None = None) -> None:
        """Act on an answer. `waited_ms`: for how long the server kept the ask, None if it was not to."""
        self._failures = 0
        self._asking.answered(answer)
        match answer:
            case Paused():
                self.is_idle = False
                self._wait_next(self._waiting.after(self._asking.park_ms, waited_ms))
            case Taken():
                self._waiting.came(len(answer.jobs), waited_ms)
                self._take(answer, sent, waited_ms or 0)
                self.is_idle = len(answer.jobs) < sent.size and not answer.more
                if answer.jobs:
                    await asyncio.sleep(0)  # the handlers begin before the next ask is made
                if self.is_idle:
                    await self._rest(answer, sent, waited_ms)
                elif not answer.jobs and not answer.broken and (wait_ms := self._held_up.wait_ms()):
                    with self._watch.is_upkeeps():
                        await self._pause(wait_ms)
            case _:
                assert_never(answer)

    def _take(self, answer: Taken, sent: Sent, waited_ms: int) -> None:
        jobs = answer.jobs
        self._asking.count(answer, sent, waited_ms)
        if jobs:
            deadline_ms = self._asking.deadline_ms(sent, waited_ms)
            self._on_claimed([Hold(job, deadline_ms=deadline_ms) for job in jobs])
        if jobs or answer.broken:
            self._dues.over()
        if jobs or answer.broken or not answer.more:
            self._held_up.over()

    async def _rest(self, answer: Taken, sent: Sent, waited_ms: int | None) -> None:
        """Do what is due, or have the next ask wait until something is, or somebody wakes us."""
        self._watch.rests()
        self._asks_at_once = True
        if not answer.due:
            self._dues.over()
            watches = answer.wait_ms < sent.park_ms
            self._watch.alarm.answered(answer.wait_ms if watches else None)
            if self._waiting.linger.is_on:
                await self._waiting.gather(answer.wait_ms)
            else:
                self._wait_next(self._waiting.after(answer.wait_ms, waited_ms))
        elif await self._upkeep.catch_up():
            self._dues.over()
        elif wait_ms := self._dues.wait_ms():
            self.is_idle = False  # nobody can promise to watch meanwhile, so upkeep goes by its own clock
            self._wait_next(Wait(wait_ms, by_tokens=True))

    def _wait_next(self, wait: Wait) -> None:
        self._asks_at_once = True
        self._wait = wait

    async def _failed(self, error: EchoMQError) -> None:
        self._asking.failed(error)
        wait_ms = delay_ms(self._failures, self._dice, first_ms=50, last_ms=_WAIT_MAX_MS)
        if not self.is_stopping:  # what is lost by the stop itself says nothing about the server
            self._failures += 1
        await self._pause(wait_ms)
