"""The worker: puts the parts together, starts them, and takes them down in order.

    worker = Worker(app, "mail", handler)
    report = await run_until_signal(worker)

Nothing runs before `run` is awaited, and nothing is left running when it has returned.
"""

import asyncio
import contextlib

from echomq.app import EchoMQ
from echomq.clock import SYSTEM_CLOCK, SYSTEM_DICE, Clock, Dice
from echomq.errors import AlreadyRunning, InvalidOption
from echomq.keys import check_queue
from echomq.worker.counts import WorkerCounts
from echomq.worker.options import WorkerOptions
from echomq.worker.report import StopReport
from echomq.worker.run import Handler
from echomq.worker.shift import Shift

__all__ = ["Worker"]


class Worker:
    """Runs the jobs of one queue.

    `handler` gets a `Run` and returns the result, bytes or None. A coroutine function runs in the event loop, a plain
    function in a thread. What it raises makes the attempt fail. Raises `InvalidName` for a queue name outside the
    charset.
    """

    def __init__(
        self,
        app: EchoMQ,
        queue: str,
        handler: Handler,
        *,
        options: WorkerOptions = WorkerOptions(),  # noqa: B008 - frozen
        clock: Clock = SYSTEM_CLOCK,
        dice: Dice = SYSTEM_DICE,
    ) -> None:
        self._app = app
        self._queue = check_queue(queue)
        if not callable(handler):
            raise InvalidOption("handler", handler, "a function that takes the Run, plain or a coroutine function")
        if not isinstance(options, WorkerOptions):
            raise InvalidOption("options", options, "a WorkerOptions")
        self._handler = handler
        self._options = options
        self._clock = clock
        self._dice = dice
        self._counts = WorkerCounts()
        self._shift: Shift | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stops = 0

    def __repr__(self) -> str:
        return f"Worker({self._queue!r})"

    @property
    def queue(self) -> str:
        """The queue's name."""
        return self._queue

    @property
    def options(self) -> WorkerOptions:
        """What it was told."""
        return self._options

    @property
    def counts(self) -> WorkerCounts:
        """A snapshot of the counters since the worker was made."""
        return self._counts.copy()

    @property
    def running(self) -> int:
        """How many handlers run now."""
        shift = self._shift
        return 0 if shift is None else shift.running

    async def run(self, *, ctrl_c_raises: bool = True) -> StopReport:
        """Serve until `stop`, and return what became of the jobs that were running then. May be run again afterwards.

        When it is cancelled it stops at once, hands back what it holds and lets the cancellation go on. Raises what
        made one of its loops crash, after the same: a client that was closed or refused for good (`Closed`,
        `AuthRefused`, …), or a bug. Other errors of the server or the link never end it. Raises `AlreadyRunning` when
        it runs already.

        `ctrl_c_raises=False` says that this loop handles SIGINT (`loop.add_signal_handler`), as `run_until_signal`
        does. A KeyboardInterrupt in a coroutine handler is the handler's own then, and fails its attempt like anything
        else it raises. By default it may be the user's Ctrl-C as well: it fails the attempt, and the worker stops at
        once, hands back what it holds and raises it.
        """
        if self._shift is not None:
            raise AlreadyRunning(self._queue)
        self._loop = asyncio.get_running_loop()
        self._shift = Shift(
            self._app,
            self._queue,
            self._handler,
            self._options,
            self._counts,
            clock=self._clock,
            dice=self._dice,
            ctrl_c_raises=ctrl_c_raises,
        )
        try:
            self._pass_on()
            return await self._shift.serve()
        finally:
            self._shift = None
            self._loop = None
            self._stops = 0

    def stop(self) -> None:
        """Ask it to stop and return at once. From the loop, from any thread and from a signal handler.

        The first call ends fetching and lets running jobs finish within `grace_ms`; a second one cancels them and
        hands them back at once. Before `run`, it makes the next `run` end as soon as it has begun.
        """
        self._stops += 1
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop was closed: there is nothing left to stop
                loop.call_soon_threadsafe(self._pass_on)

    def _pass_on(self) -> None:
        if self._shift is not None:
            self._shift.asked_to_stop(self._stops)
