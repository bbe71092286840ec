"""Tells the server how attempts ended: collects endings and sends them as batches.

All endings that come together within `gather_ms` are one `complete_many`, with failures and hand-backs beside it in the
same write. While a batch is on its way the next one gathers, so a busy worker pays one round trip for many jobs and a
lone job pays no wait.

A batch that failed is sent again, with growing waits, for as long as the attempt can still be ours: the lease thread
goes on renewing what waits here, so a short outage costs nothing but time. Repeating is safe, since each ending carries
its token. When the first answer was lost and the repeat is refused, the first one most likely counted; that is logged
as "unconfirmed", because nobody can know.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final, assert_never

from echomq.batches import BATCH_MAX
from echomq.clock import Clock, Dice
from echomq.drivers.backoff import delay_ms
from echomq.errors import BadInput, EchoMQError, Unknown
from echomq.jobs import Jobs
from echomq.records import Broken, Completed, Completion, Dead, Gone, Released, Scheduled, Stale
from echomq.worker.counts import WorkerCounts
from echomq.worker.failure import describe
from echomq.worker.hold import Hold, Holds
from echomq.worker.log import LOG
from echomq.worker.options import WorkerOptions
from echomq.worker.service import Service
from echomq.worker.verdict import Release, Retry

__all__ = ["Ending", "Settle"]

BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""Results of one batch, in bytes; a single larger one goes alone."""

_WAIT_MAX_MS: Final = 5_000

Answer = Completed | Gone | Stale | Broken | Scheduled | Dead | Released


class Ending:
    """What is to be told about one attempt. `is_repeated`: a first telling may have arrived."""

    __slots__ = ("hold", "is_repeated", "what")

    def __init__(self, hold: Hold, what: Completion | Retry | Release) -> None:
        self.hold = hold
        self.what = what
        self.is_repeated = False


class Settle(Service):
    """Sends endings. `on_settled` is told each answer, or None when the ending was given up."""

    def __init__(
        self,
        jobs: Jobs,
        holds: Holds,
        options: WorkerOptions,
        counts: WorkerCounts,
        *,
        clock: Clock,
        dice: Dice,
        is_last: Callable[[], bool],
        on_settled: Callable[[Ending, Answer | None], None],
    ) -> None:
        super().__init__("settle")
        self._jobs = jobs
        self._holds = holds
        self._options = options
        self._counts = counts
        self._clock = clock
        self._dice = dice
        self._is_last = is_last
        self._on_settled = on_settled
        self._waiting: deque[Ending] = deque()
        self._sending = 0
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._failures = 0

    def add(self, ending: Ending) -> None:
        """Take an ending to be told."""
        self._waiting.append(ending)
        self._some.set()
        if self._is_last() or len(self._waiting) >= BATCH_MAX:
            self._enough.set()

    @property
    def unsettled(self) -> list[Hold]:
        """The attempts whose ending waits, or is on its way."""
        return [ending.hold for ending in self._waiting]

    @property
    def waiting(self) -> int:
        """How many endings wait, or are on their way."""
        return len(self._waiting) + self._sending

    def stop(self) -> None:
        """Tell what is left and end."""
        super().stop()
        self._some.set()
        self._enough.set()

    async def _serve(self) -> None:
        while await self._gathered():
            batch = self._next_batch()
            self._sending = len(batch)
            try:
                failed = await self._send(batch)
            except BaseException:  # cancelled: nobody knows what arrived, so it is unsettled still
                self._waiting.extendleft(reversed(batch))
                raise
            finally:
                self._sending = 0
            if failed:
                self._waiting.extendleft(reversed(failed))
                await self._back_off()
            else:
                self._failures = 0

    async def _gathered(self) -> bool:
        """Wait for an ending, and a little for its company. False when there is none and none will come."""
        if not self._waiting:
            if self.is_stopping:
                return False
            self._some.clear()
            self._enough.clear()
            await self._some.wait()
        if not self._enough.is_set() and self._options.gather_ms:
            try:
                async with asyncio.timeout(self._options.gather_ms / 1000):
                    await self._enough.wait()
            except TimeoutError:
                pass
        if not self.is_stopping:
            self._enough.clear()
        return bool(self._waiting) or not self.is_stopping

    async def _back_off(self) -> None:
        wait_ms = delay_ms(self._failures, self._dice, first_ms=50, last_ms=_WAIT_MAX_MS)
        self._failures += 1
        await asyncio.sleep(wait_ms / 1000)

    def _next_batch(self) -> list[Ending]:
        """Take endings that can still be told, up to the bounds of a batch; give up those that cannot."""
        batch: list[Ending] = []
        size_bytes = 0
        now_ms = self._clock.monotonic_ms()
        while self._waiting and len(batch) < BATCH_MAX:
            ending = self._waiting[0]
            size_bytes += _size_bytes(ending)
            if batch and size_bytes > BATCH_BYTES_MAX:
                break
            self._waiting.popleft()
            if ending.hold.deadline_ms <= now_ms:
                self._give_up(ending)
            else:
                batch.append(ending)
        return batch

    async def _send(self, batch: list[Ending]) -> list[Ending]:
        """Send a batch and note the answers. Returns those endings that have to be told again."""
        completions = [ending for ending in batch if isinstance(ending.what, Completion)]
        if len(completions) == len(batch):
            return await self._complete(batch) if batch else []
        others = [ending for ending in batch if not isinstance(ending.what, Completion)]
        # Calls that are made in one turn of the loop share one write.
        sent = [self._complete(completions)] if completions else []
        failed = await asyncio.gather(*sent, *(self._report(ending) for ending in others))
        return [ending for part in failed for ending in part]

    async def _complete(self, batch: list[Ending]) -> list[Ending]:
        items = [ending.what for ending in batch if isinstance(ending.what, Completion)]
        try:
            answers = await self._jobs.complete_many(items)
        except BadInput as error:  # one of the results is too large: it must not hold up the others
            if len(batch) > 1:
                parts = [await self._complete([ending]) for ending in batch]
                return [ending for part in parts for ending in part]
            delay = self._options.retry.delay_ms(batch[0].hold.token, self._dice)
            batch[0].what = Retry(delay, self._options.max_attempts, describe(error))
            return await self._report(batch[0])
        except EchoMQError as error:
            return self._refused(batch, error)
        done = [ending for ending, answer in zip(batch, answers, strict=True) if isinstance(answer, Completed)]
        self._note_completed(done)
        if len(done) < len(batch):
            for ending, answer in zip(batch, answers, strict=True):
                if not isinstance(answer, Completed):
                    self._note(ending, answer)
        return []

    async def _report(self, ending: Ending) -> list[Ending]:
        hold, what = ending.hold, ending.what
        try:
            if isinstance(what, Retry):
                self._note(
                    ending,
                    await self._jobs.retry(
                        hold.job,
                        hold.token,
                        delay_ms=what.delay_ms,
                        max_attempts=what.max_attempts,
                        error=what.error,
                    ),
                )
            else:
                self._note(ending, await self._jobs.release(hold.job, hold.token))
        except EchoMQError as error:
            return self._refused([ending], error)
        return []

    def _note_completed(self, endings: list[Ending]) -> None:
        self._counts.completed += len(endings)
        self._holds.drop([ending.hold for ending in endings])
        for ending in endings:
            LOG.debug("queue %s: %r is done", self._jobs.queue, ending.hold)
            self._on_settled(ending, Completed(ending.hold.job))

    def _note(self, ending: Ending, answer: Answer) -> None:
        queue, hold = self._jobs.queue, ending.hold
        self._holds.drop([hold])
        match answer:
            case Completed():
                self._counts.completed += 1
            case Scheduled():
                self._counts.retried += 1
                LOG.warning("queue %s: %r failed and runs again in %d ms: %s", queue, hold, *_about(ending))
            case Dead():
                self._counts.dead += 1
                LOG.error("queue %s: %r failed and is dead, no attempt is left: %s", queue, hold, _about(ending)[1])
            case Released():
                self._counts.released += 1
                LOG.info("queue %s: %r was handed back, the attempt is not spent", queue, hold)
            case Stale() | Gone():
                self._note_refused(ending, answer)
            case Broken():
                self._counts.broken += 1
                LOG.error("queue %s: the row of %r is no job's: `remove` clears it away", queue, hold)
            case _:
                assert_never(answer)
        self._on_settled(ending, answer)

    def _note_refused(self, ending: Ending, answer: Stale | Gone) -> None:
        queue, hold = self._jobs.queue, ending.hold
        if ending.is_repeated:
            self._counts.unconfirmed += 1
            LOG.warning(
                "queue %s: the ending of %r is unconfirmed: the link was lost before the first answer, and the repeat"
                " was refused (%s), most likely because the first one counted",
                queue,
                hold,
                type(answer).__name__,
            )
            return
        self._counts.stale += 1
        why = "another attempt decides about the job" if isinstance(answer, Stale) else "the job is gone"
        LOG.warning("queue %s: the ending of %r was refused, %s", queue, hold, why)

    def _refused(self, batch: list[Ending], error: EchoMQError) -> list[Ending]:
        """Note that a batch failed. Returns those endings that are worth telling again."""
        self._counts.errors += 1
        LOG.warning(
            "queue %s: %d endings, of %r and others, could not be told and are sent again: %s",
            self._jobs.queue,
            len(batch),
            batch[0].hold,
            error,
        )
        if isinstance(error, Unknown):
            for ending in batch:
                ending.is_repeated = True
        return batch

    def _give_up(self, ending: Ending) -> None:
        self._counts.lost += 1
        self._holds.drop([ending.hold])
        LOG.error(
            "queue %s: the ending of %r (%s) could not be told before its lease ran out: the job runs again",
            self._jobs.queue,
            ending.hold,
            type(ending.what).__name__,
        )
        self._on_settled(ending, None)


def _size_bytes(ending: Ending) -> int:
    what = ending.what
    return len(what.result) if isinstance(what, Completion) and what.result is not None else 0


def _about(ending: Ending) -> tuple[int, str]:
    assert isinstance(ending.what, Retry)
    first, _, rest = ending.what.error.partition("\n")
    if rest and LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("%r: %s", ending.hold, ending.what.error)
    return ending.what.delay_ms, first
