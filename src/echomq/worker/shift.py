"""One run of a worker, from its start to its stop: the parts, what they tell one another, and the order of ending.

    fetch --claimed--> runner --outcome--> verdict --ending--> settle --answer--> report
     |^  ^ slots freed ---'                   lease renews all that is held and says what is lost
     |'--'------------- due in ... ms ---------------------------'
     '--- due now --> upkeep

Everything here happens in the event loop; only the lease keeper has a thread.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import Final

from echomq.app import EchoMQ
from echomq.clock import Clock, Dice
from echomq.ids import JobId
from echomq.worker.context import Desk
from echomq.worker.counts import WorkerCounts
from echomq.worker.fetch import Fetch
from echomq.worker.hold import Hold, Holds
from echomq.worker.lease import LeaseKeeper
from echomq.worker.ledger import Ending, Ledger
from echomq.worker.log import LOG
from echomq.worker.options import WorkerOptions
from echomq.worker.report import Fates, StopReport
from echomq.worker.run import Handler, Runner
from echomq.worker.service import Service, first_crash
from echomq.worker.settle import Settle
from echomq.worker.upkeep import Upkeep
from echomq.worker.verdict import Drop, Outcome, Release, verdict

__all__ = ["Shift"]

UNSETTLED_MAX: Final = 2_000
"""No more is fetched while so many endings, and those of a full load besides, wait to be told."""

LAST_WORDS_MS: Final = 2_000
"""How long, at the least, each of these may take at a stop: the last ask, the last endings, the last renewal."""


class Shift:
    """The state of one `Worker.run`."""

    def __init__(
        self,
        app: EchoMQ,
        queue: str,
        handler: Handler,
        options: WorkerOptions,
        counts: WorkerCounts,
        *,
        clock: Clock,
        dice: Dice,
        ctrl_c_raises: bool,
    ) -> None:
        self._options = options
        self._counts = counts
        self._clock = clock
        self._dice = dice
        self._queue = queue
        self._stop_asked = asyncio.Event()
        self._at_once = asyncio.Event()
        self._interrupt: KeyboardInterrupt | None = None
        self._fates = Fates(queue)
        jobs = app.jobs(queue)
        self._holds = Holds()
        self._desk = Desk(jobs, lambda: app.blocking_jobs(queue))
        self._runner = Runner(
            handler,
            self._desk,
            threads=options.concurrency,
            on_end=self._ended,
            # Python raises Ctrl-C in the main thread only.
            on_interrupt=self._interrupted if ctrl_c_raises and _is_main_thread() else None,
        )
        self._settle = Settle(
            jobs,
            Ledger(queue, self._holds, counts, on_settled=self._fates.settled, on_scheduled=self._scheduled),
            options,
            clock=clock,
            dice=dice,
            is_last=lambda: not self._runner.running,
        )
        self._upkeep = Upkeep(jobs, options, counts, dice=dice, rests=lambda: self._fetch.is_idle)
        self._fetch = Fetch(
            jobs,
            options,
            counts,
            self._upkeep,
            clock=clock,
            dice=dice,
            new_parking=lambda: app.new_parking(queue),
            free=self._free,
            on_claimed=self._claimed,
        )
        self._lease = LeaseKeeper(
            jobs.keys,
            self._holds,
            options,
            clock=clock,
            new_client=app.new_blocking_client,
            on_lost=self._lost,
            on_error=self._lease_failed,
        )

    @property
    def running(self) -> int:
        """How many handlers run now."""
        return len(self._runner.running)

    def asked_to_stop(self, times: int) -> None:
        """Stop gracefully (once) or at once (twice and more)."""
        if times >= 1:
            self._begin_to_stop()
            self._stop_asked.set()
        if times >= 2:
            self._at_once.set()

    async def serve(self) -> StopReport:
        """Run until asked to stop, until a part crashes, or until cancelled; then end in order."""
        services = self._services
        for service in services:
            service.start()
        LOG.info("queue %s: the worker has started, %d slots", self._queue, self._options.concurrency)
        crash: BaseException | None = None
        try:
            crash = await self._until_stopped(services)
        except asyncio.CancelledError:
            self._at_once.set()
            await self._end_uncancelled()
            raise
        if crash is not None:
            LOG.critical("queue %s: the worker goes down: %r", self._queue, crash)
            self._at_once.set()
        report = await self._end_uncancelled()
        if crash is not None:
            raise crash
        if self._interrupt is not None:
            raise self._interrupt
        return report

    @property
    def _services(self) -> list[Service]:
        return [self._lease, self._settle, self._fetch, *self._upkeep.chores]

    async def _until_stopped(self, services: Sequence[Service]) -> BaseException | None:
        stop = asyncio.ensure_future(self._stop_asked.wait())
        crash = asyncio.ensure_future(first_crash(services))
        try:
            await asyncio.wait({stop, crash}, return_when=asyncio.FIRST_COMPLETED)
            return crash.result() if crash.done() else None
        finally:
            for watcher in (stop, crash):
                watcher.cancel()
            await asyncio.gather(stop, crash, return_exceptions=True)

    # --- what the parts tell one another ----------------------------------------------------------------------------

    def _free(self) -> int:
        options = self._options
        slots = options.concurrency - len(self._runner.running)
        return min(slots, UNSETTLED_MAX + options.concurrency - self._settle.waiting)

    def _claimed(self, holds: Sequence[Hold]) -> None:
        now_ms = self._clock.monotonic_ms()
        if now_ms >= holds[0].deadline_ms:
            LOG.warning("queue %s: %d jobs are handed back, the answer came after their lease", self._queue, len(holds))
            self._hand_back(holds, until_ms=now_ms + self._options.lease_ms)
            return
        self._holds.add(holds)
        if self._fetch.is_stopping:
            self._hand_back(holds, until_ms=holds[0].deadline_ms)
            return
        for hold in holds:
            self._runner.start(hold)

    def _hand_back(self, holds: Sequence[Hold], *, until_ms: int) -> None:
        """Hand back attempts that never began; give that up at `until_ms`. The token makes it safe at any time."""
        for hold in holds:
            hold.is_ended = True
            hold.deadline_ms = until_ms
            self._settle.add(Ending(hold, Release()))

    def _ended(self, hold: Hold, outcome: Outcome) -> None:
        """Decide about an attempt whose handler has ended."""
        if not hold.is_ended:
            hold.is_ended = True
            now_ms = self._clock.monotonic_ms()
            what = verdict(hold, outcome, self._options, self._dice, now_ms=now_ms)
            if isinstance(what, Drop):
                self._note_lost(hold, what.reason)
            else:
                self._settle.add(Ending(hold, what))
        self._fetch.freed(is_last=not self._runner.running)

    def _scheduled(self, delay_ms: int) -> None:
        self._fetch.scheduled(delay_ms)

    def _lost(self, hold: Hold) -> None:
        """Give up an attempt that is not ours any more, while its handler may still run."""
        if hold.is_ended:
            return
        hold.is_ended = True
        assert hold.lost is not None
        self._note_lost(hold, hold.lost)
        self._runner.cancel(hold, hold.lost)

    def _note_lost(self, hold: Hold, reason: str) -> None:
        self._counts.lost += 1
        self._holds.drop([hold])
        LOG.error("queue %s: %r is lost, its result is refused: %s", self._queue, hold, reason)
        self._fates.note("lost", hold.job)

    def _interrupted(self, error: KeyboardInterrupt) -> None:
        """End at once and in order, and raise it: it may be the user's Ctrl-C."""
        LOG.warning("queue %s: a handler was interrupted, the worker stops", self._queue)
        self._interrupt = error
        self.asked_to_stop(2)

    def _lease_failed(self) -> None:
        self._counts.errors += 1

    # --- the end ----------------------------------------------------------------------------------------------------

    def _begin_to_stop(self) -> None:
        """Ask for no more work, tell handlers, and note from here on what becomes of each job. May be repeated."""
        self._fates.begin()
        self._desk.is_stopping = True
        for service in (self._fetch, *self._upkeep.chores):
            service.stop()

    async def _end_uncancelled(self) -> StopReport:
        """End in order, and faster when cancelled meanwhile."""
        ending = asyncio.ensure_future(self._end_in_order())
        try:
            return await asyncio.shield(ending)
        except asyncio.CancelledError:
            self._at_once.set()
            await asyncio.wait({ending})
            raise

    async def _end_in_order(self) -> StopReport:
        """Ask for no more, let jobs finish, hand back the rest, tell the last endings, and take down the parts."""
        cancel_ms = self._options.cancel_ms
        self._begin_to_stop()
        await self._grace()
        for hold in list(self._runner.running):
            self._runner.cancel(hold, "the worker is stopping")
        # An ask that is on its way may still bring jobs, which are leased: they are handed back.
        if not await self._fetch.ended(within_ms=max(cancel_ms, LAST_WORDS_MS)):
            LOG.warning("queue %s: an ask for work got no answer; what it leased runs after its lease", self._queue)
        still_running = await self._hand_back_rest()
        self._settle.stop()
        await self._settle.ended(within_ms=max(cancel_ms, LAST_WORDS_MS))
        for hold in self._settle.unsettled:
            self._fates.note("abandoned", hold.job)
        self._lease.stop()
        for service in (self._lease, *self._upkeep.chores):
            await service.ended(within_ms=max(cancel_ms, LAST_WORDS_MS))
        self._runner.close()
        return self._fates.report(still_running)

    async def _grace(self) -> None:
        """Wait until all handlers have ended, the grace is over, or a second stop was asked for."""
        if self._at_once.is_set() or not self._options.grace_ms:
            return
        idle = asyncio.ensure_future(self._runner.idle())
        hurry = asyncio.ensure_future(self._at_once.wait())
        await asyncio.wait({idle, hurry}, timeout=self._options.grace_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        for waiter in (idle, hurry):
            waiter.cancel()
        await asyncio.gather(idle, hurry, return_exceptions=True)

    async def _hand_back_rest(self) -> list[JobId]:
        """Wait a little for cancelled handlers; hand back the jobs of those that do not end, and return them."""
        if self._runner.running:
            idle = asyncio.ensure_future(self._runner.idle())
            await asyncio.wait({idle}, timeout=self._options.cancel_ms / 1000)
            idle.cancel()
            await asyncio.gather(idle, return_exceptions=True)
        still_running = []
        for hold in self._runner.running:
            still_running.append(hold.job)
            if not hold.is_ended:
                hold.is_ended = True
                hold.lost = "the worker stopped and handed the job back"
                self._settle.add(Ending(hold, Release()))
        return still_running


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
