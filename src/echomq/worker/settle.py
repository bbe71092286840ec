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
from collections import deque
from collections.abc import Callable
from typing import Final

from echomq.batches import BATCH_MAX
from echomq.clock import Clock, Dice
from echomq.drivers.backoff import delay_ms
from echomq.errors import BadInput, EchoMQError
from echomq.jobs import Jobs
from echomq.records import Completed, Completion
from echomq.worker.failure import describe
from echomq.worker.hold import Hold
from echomq.worker.ledger import Ending, Ledger
from echomq.worker.options import WorkerOptions
from echomq.worker.service import Service
from echomq.worker.verdict import Retry

__all__ = ["BATCH_BYTES_MAX", "Settle"]

BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""Results of one batch, in bytes; a single larger one goes alone."""

_WAIT_MAX_MS: Final = 5_000


class Settle(Service):
    """Sends endings and has the ledger note each answer. `is_last` says that nothing runs, so no company will come."""

    def __init__(
        self,
        jobs: Jobs,
        ledger: Ledger,
        options: WorkerOptions,
        *,
        clock: Clock,
        dice: Dice,
        is_last: Callable[[], bool],
    ) -> None:
        super().__init__("settle")
        self._jobs = jobs
        self._ledger = ledger
        self._options = options
        self._clock = clock
        self._dice = dice
        self._is_last = is_last
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
                self._ledger.given_up(ending)
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
            return self._ledger.failed(batch, error)
        done = [ending for ending, answer in zip(batch, answers, strict=True) if isinstance(answer, Completed)]
        self._ledger.completed(done)
        if len(done) < len(batch):
            for ending, answer in zip(batch, answers, strict=True):
                if not isinstance(answer, Completed):
                    self._ledger.note(ending, answer)
        return []

    async def _report(self, ending: Ending) -> list[Ending]:
        hold, what = ending.hold, ending.what
        try:
            if isinstance(what, Retry):
                self._ledger.note(
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
                self._ledger.note(ending, await self._jobs.release(hold.job, hold.token))
        except EchoMQError as error:
            return self._ledger.failed([ending], error)
        return []


def _size_bytes(ending: Ending) -> int:
    what = ending.what
    return len(what.result) if isinstance(what, Completion) and what.result is not None else 0
