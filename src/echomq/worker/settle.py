"""Tells the server how attempts ended: collects endings and sends them as batches.

All endings that come together within `gather_ms` are one `complete_many`, with failures and hand-backs beside it in the
same write. While a batch is on its way the next one gathers, so a busy worker pays one round trip for many jobs and a
lone job pays no wait.

A batch that failed is sent again, with growing waits, for as long as the attempt can still be ours: the lease thread
goes on renewing what waits here, so a short outage costs nothing but time. Repeating is safe, since each ending carries
its token. When the first answer was lost and the repeat is refused, the first one most likely counted; that is logged
as "unconfirmed", because nobody can know.

A batch that the server refuses may have one damaged job in it, so it is halved until the refused endings stand alone.
Those wait by themselves from there on, each for its own time, and hold up nobody else. Refusals that are the server's
own (it is full, a replica, still loading, …) meet every ending alike: such a batch waits as a whole.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from echomq.batches import BATCH_MAX
from echomq.clock import Clock, Dice
from echomq.drivers.backoff import delay_ms
from echomq.errors import (
    BadInput,
    EchoMQError,
    Loading,
    NoPermission,
    ReadOnly,
    ServerError,
    ServerFull,
    UnexpectedReply,
    WrongType,
)
from echomq.jobs import Jobs
from echomq.records import Broken, Completed, Completion
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

# First words of replies that say something about the server, not about what was asked.
_SERVERS_OWN: Final = frozenset({"BUSY", "CLUSTERDOWN", "MASTERDOWN", "MISCONF", "NOAUTH", "NOREPLICAS", "TRYAGAIN"})


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
        self._refused: dict[Ending, asyncio.TimerHandle] = {}
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
        return [ending.hold for ending in (*self._waiting, *self._refused)]

    @property
    def waiting(self) -> int:
        """How many endings wait, or are on their way."""
        return len(self._waiting) + len(self._refused) + self._sending

    def stop(self) -> None:
        """Tell what is left and end."""
        super().stop()
        self._some.set()
        self._enough.set()

    async def _serve(self) -> None:
        try:
            await self._tell_all()
        finally:
            for timer in self._refused.values():
                timer.cancel()

    async def _tell_all(self) -> None:
        while await self._gathered():
            batch = self._next_batch()
            self._sending = len(batch)
            try:
                failed = await self._send(batch)
            except BaseException:  # cancelled: nobody knows what arrived, so it is unsettled still
                left = [ending for ending in batch if not ending.is_noted and ending not in self._refused]
                self._waiting.extendleft(reversed(left))
                raise
            finally:
                self._sending = 0
            if failed:
                self._waiting.extendleft(reversed(failed))
                await self._back_off()
            else:
                self._failures = 0
                self._ledger.went_through()

    async def _gathered(self) -> bool:
        """Wait for an ending, and a little for its company. False when there is none and none will come."""
        if not self._waiting:
            if self.is_stopping and not self._refused:
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
        return bool(self._waiting or self._refused) or not self.is_stopping

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
        together = [ending for ending in batch if isinstance(ending.what, Completion) and not ending.refusals]
        if len(together) == len(batch):
            return await self._complete(batch) if batch else []
        # Calls that are made in one turn of the loop share one write.
        sent = [self._complete(together)] if together else []
        for ending in batch:
            if not isinstance(ending.what, Completion):
                sent.append(self._report(ending))
            elif ending.refusals:
                sent.append(self._complete([ending]))
        return _joined(await asyncio.gather(*sent))

    async def _complete(self, batch: list[Ending]) -> list[Ending]:
        items = [ending.what for ending in batch if isinstance(ending.what, Completion)]
        try:
            answers = await self._jobs.complete_many(items)
        except BadInput as error:  # one of the results is too large: it must not hold up the others
            if len(batch) > 1:
                return await self._apart(batch)
            delay = self._options.retry.delay_ms(batch[0].hold.token, self._dice)
            batch[0].what = Retry(delay, self._options.max_attempts, describe(error))
            return await self._report(batch[0])
        except EchoMQError as error:
            if not _is_about_items(error):
                return self._ledger.failed(batch, error)
            if len(batch) == 1:
                return self._refuse(batch[0], error)
            self._ledger.split(batch, error)
            return await self._apart(batch)
        done = [ending for ending, answer in zip(batch, answers, strict=True) if isinstance(answer, Completed)]
        self._ledger.completed(done)
        if len(done) < len(batch):
            for ending, answer in zip(batch, answers, strict=True):
                if not isinstance(answer, Completed):
                    self._ledger.note(ending, answer)
        return []

    async def _apart(self, batch: list[Ending]) -> list[Ending]:
        middle = len(batch) // 2
        return _joined(await asyncio.gather(self._complete(batch[:middle]), self._complete(batch[middle:])))

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
            return self._refuse(ending, error) if _is_about_items(error) else self._ledger.failed([ending], error)
        return []

    def _refuse(self, ending: Ending, error: EchoMQError) -> list[Ending]:
        """Note what the server refused alone. A broken row is final; anything else is told again, apart from others."""
        if _is_broken_row(error):
            self._ledger.note(ending, Broken(ending.hold.job))
            return []
        wait_ms = delay_ms(ending.refusals, self._dice, first_ms=50, last_ms=_WAIT_MAX_MS)
        ending.refusals += 1
        self._sending -= 1
        self._ledger.refused(ending, error, again_in_ms=wait_ms)
        loop = asyncio.get_running_loop()
        self._refused[ending] = loop.call_later(wait_ms / 1000, self._tell_again, ending)
        return []

    def _tell_again(self, ending: Ending) -> None:
        del self._refused[ending]
        self.add(ending)


def _is_about_items(error: EchoMQError) -> bool:
    """Say whether one of the items may be why the server refused them all."""
    if isinstance(error, ServerFull | ReadOnly | Loading | NoPermission):
        return False
    return isinstance(error, UnexpectedReply) or (isinstance(error, ServerError) and error.word not in _SERVERS_OWN)


def _is_broken_row(error: EchoMQError) -> bool:
    """Say whether a transition of one job was refused because its row is no hash (docs/wire.md, rule 3)."""
    return isinstance(error, WrongType) and error.reply.startswith("WRONGTYPE the row of ")


def _joined(parts: Iterable[list[Ending]]) -> list[Ending]:
    return [ending for part in parts for ending in part]


def _size_bytes(ending: Ending) -> int:
    what = ending.what
    return len(what.result) if isinstance(what, Completion) and what.result is not None else 0
