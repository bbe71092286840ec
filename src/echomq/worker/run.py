"""Runs one job and catches what happens: every way in which a handler can end becomes an `Outcome`.

Coroutine handlers run as tasks of the event loop, plain functions in a pool of as many threads as there are slots.
Whatever a handler raises or returns stays here (weakness W29 of the protocol), with one exception: a KeyboardInterrupt
in the event loop may be the user's Ctrl-C, which Python raises in whatever runs at that moment. Unless the loop handles
SIGINT, so that Ctrl-C raises nothing, the worker is told, which ends in order and raises it. The attempt fails in any
case: a job that raises it each time must not end one worker after the other for ever.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, cast

from echomq.worker.context import CURRENT, Desk, Run
from echomq.worker.failure import describe, refused_result
from echomq.worker.hold import Hold
from echomq.worker.verdict import Cancelled, Outcome, Raised, Returned

__all__ = ["Handler", "Runner"]

Handler = Callable[[Run], Awaitable[bytes | None]] | Callable[[Run], bytes | None]

_OUTSIDE_CANCEL: Final = "asyncio.CancelledError: the handler was cancelled, though not by the worker"


class Runner:
    """Starts handlers and tells `on_end` how each ended, in the loop. Knows which are running.

    `on_interrupt` is told a KeyboardInterrupt that came out of a coroutine; None when it can only be the handler's own.
    """

    def __init__(
        self,
        handler: Handler,
        desk: Desk,
        *,
        threads: int,
        on_end: Callable[[Hold, Outcome], None],
        on_interrupt: Callable[[KeyboardInterrupt], None] | None = None,
    ) -> None:
        self._handler = handler
        self._desk = desk
        self._on_end = on_end
        self._on_interrupt = on_interrupt
        self._loop = asyncio.get_running_loop()
        self._pool = None if _is_coroutine(handler) else ThreadPoolExecutor(threads, thread_name_prefix="echomq-job")
        self._idle = asyncio.Event()
        self._idle.set()
        self.running: dict[Hold, None] = {}

    @property
    def in_loop(self) -> bool:
        """Whether handlers run in the event loop."""
        return self._pool is None

    def start(self, hold: Hold) -> None:
        """Run the handler for this attempt."""
        self.running[hold] = None
        self._idle.clear()
        if self._pool is None:
            hold.task = self._loop.create_task(self._in_loop(hold))
            hold.cancel = hold.task.cancel
            return
        # What crosses over from the thread is a value, never an exception: a StopIteration cannot be set on a future of
        # the loop, and would leave the job running for ever.
        submitted = self._pool.submit(copy_context().run, self._in_thread, hold)
        future = asyncio.wrap_future(submitted, loop=self._loop)
        future.add_done_callback(partial(self._thread_done, hold))
        hold.cancel = future.cancel

    def cancel(self, hold: Hold, why: str) -> None:
        """Ask a running handler to end: a coroutine is cancelled, a function that has not begun never begins.

        A function that has begun cannot be ended by force; it can look at `Run.lost` and `Run.stopping`.
        """
        hold.is_cancelled = True
        if hold.cancel is None or (hold.is_started and self._pool is not None):
            return
        hold.cancel(why)
        if not hold.is_started:
            self._end(hold, Cancelled())  # a task that is cancelled before its first step runs nothing of its own

    async def idle(self) -> None:
        """Wait until nothing is running."""
        await self._idle.wait()

    def close(self) -> None:
        """Take no more jobs. Does not wait for threads that are still in a handler."""
        if self._pool is None:
            return
        for hold in list(self.running):
            if hold.cancel is not None:
                hold.cancel("the worker has ended")  # so that the thread does not call a loop that may be closed
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _in_loop(self, hold: Hold) -> None:
        hold.is_started = True
        CURRENT.set(hold.job)
        outcome: Outcome
        try:
            handler = cast("Callable[[Run], Awaitable[bytes | None]]", self._handler)
            outcome = _judged(await handler(Run(hold, self._desk)))
        except asyncio.CancelledError:
            outcome = Cancelled() if hold.is_cancelled else Raised(_OUTSIDE_CANCEL)
        except KeyboardInterrupt as error:
            self._end(hold, Raised(describe(error)))
            if self._on_interrupt is not None:
                self._on_interrupt(error)
            return
        except BaseException as error:
            outcome = Raised(describe(error))
        self._end(hold, outcome)

    def _in_thread(self, hold: Hold) -> Outcome:
        hold.is_started = True
        if hold.is_cancelled:
            return Cancelled()
        CURRENT.set(hold.job)
        try:
            handler = cast("Callable[[Run], bytes | None]", self._handler)
            return _judged(handler(Run(hold, self._desk)))
        except BaseException as error:
            return Raised(describe(error))

    def _thread_done(self, hold: Hold, future: "asyncio.Future[Outcome]") -> None:
        self._end(hold, Cancelled() if future.cancelled() else future.result())

    def _end(self, hold: Hold, outcome: Outcome) -> None:
        if self.running.pop(hold, hold) is hold:
            return  # never started here, or ended before
        if not self.running:
            self._idle.set()
        self._on_end(hold, outcome)


def _is_coroutine(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def _judged(result: object) -> Outcome:
    if result is None or type(result) is bytes:
        return Returned(result)
    if inspect.iscoroutine(result):
        result.close()
    return Raised(refused_result(result))
