"""Keeps leases alive, from its own thread with its own connection.

A handler that blocks the event loop, or a loop that is overloaded, therefore does not lose its jobs. The thread is
started by `Worker.run` and ends with it.

A lease is renewed before a third of it has passed, all that are due in one call. Its local deadline is dated from
before the claim or the renewal was sent, on the monotonic clock, so that we take it for lapsed no later than the server
does.
An attempt whose renewal is refused, or whose deadline passes without one, is lost: its handler is told, and its result
is refused here as well as by the server.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from echomq.batches import BATCH_MAX
from echomq.clock import Clock
from echomq.drivers.blocking import BlockingClient
from echomq.errors import EchoMQError
from echomq.keys import QueueKeys
from echomq.transitions.extend_many import extend_many
from echomq.transitions.is_paused import is_paused
from echomq.worker.hold import Hold, Holds
from echomq.worker.lag import LagWatch
from echomq.worker.log import LOG
from echomq.worker.options import WorkerOptions
from echomq.worker.repeats import Repeats
from echomq.worker.service import Service, is_final

__all__ = ["LeaseKeeper"]

_TICK_MS_MAX: Final = 500
_PATIENCE_MS_MAX: Final = 5_000


class LeaseKeeper(Service):
    """Renews what is in `holds`. `on_lost` and `on_error` are called in the loop."""

    def __init__(
        self,
        keys: QueueKeys,
        holds: Holds,
        options: WorkerOptions,
        *,
        clock: Clock,
        new_client: Callable[[], BlockingClient],
        on_lost: Callable[[Hold], None],
        on_error: Callable[[], None],
    ) -> None:
        super().__init__("lease")
        self._keys = keys
        self._holds = holds
        self._lease_ms = options.lease_ms
        self._clock = clock
        self._new_client = new_client
        self._on_lost = on_lost
        self._on_error = on_error
        self._loop = asyncio.get_running_loop()
        self._client: BlockingClient | None = None
        self._told_to_stop = threading.Event()
        self._repeats = Repeats()
        warn_ms = options.lag_warn_ms or min(1_000, options.lease_ms // 3)
        # A silent server is given up in time for a second try.
        self._patience_ms = min(max(100, options.lease_ms // 3), _PATIENCE_MS_MAX)
        self._tick_ms = min(options.lease_ms // 6, warn_ms, _TICK_MS_MAX)
        self._lag = LagWatch(self._loop, threading.get_ident(), queue=keys.queue, warn_ms=warn_ms, clock=clock)

    def stop(self) -> None:
        """Renew no more."""
        super().stop()
        self._told_to_stop.set()

    async def _serve(self) -> None:
        ended: asyncio.Future[None] = self._loop.create_future()
        # A daemon, so that a process whose loop was torn down can end all the same.
        thread = threading.Thread(target=self._run, args=(ended,), name="echomq-lease", daemon=True)
        thread.start()
        try:
            while not ended.done():
                # The thread may be waiting for a silent server, so lapsed leases are looked for here as well. It gets
                # one tick more: after a pause of the whole process it may still renew what nobody else took.
                await asyncio.wait({ended}, timeout=self._tick_ms / 1000)
                self._find_lapsed(slack_ms=self._tick_ms)
            thread.join()  # it has said its last word
            ended.result()
        finally:
            self._told_to_stop.set()

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _run(self, ended: "asyncio.Future[None]") -> None:
        crash: BaseException | None = None
        try:
            self._connect()
            while not self._told_to_stop.wait(self._tick_ms / 1000):
                self._lag.look(self._running_in_loop)
                self._renew_due()
                self._find_lapsed()
        except BaseException as error:
            crash = error
        finally:
            if self._client is not None:
                self._client.close()
        with suppress(RuntimeError):  # the loop was closed under us: nobody is left to be told
            self._loop.call_soon_threadsafe(_end, ended, crash)

    def _connect(self) -> None:
        """Connect before the first lease is due. A failure is nothing yet: the first renewal tries again."""
        self._client = self._new_client()
        with suppress(EchoMQError):
            self._client.run(is_paused(self._keys), reply_timeout_ms=self._patience_ms)

    def _renew_due(self) -> None:
        # What is due before the next look is due now: a third of the lease is the latest, not the earliest.
        due_ms = self._clock.monotonic_ms() + self._lease_ms * 2 // 3 + self._tick_ms
        due = [hold for hold in self._holds.all() if hold.deadline_ms <= due_ms and hold.lost is None]
        for start in range(0, len(due), BATCH_MAX):
            if self._told_to_stop.is_set():
                return
            try:
                self._renew(due[start : start + BATCH_MAX])
            except EchoMQError as error:
                if is_final(error):
                    raise
                level = logging.WARNING if self._repeats.is_loud(f"{type(error).__name__} {error}") else logging.DEBUG
                LOG.log(level, "queue %s: renewing leases failed and is tried again: %s", self._keys.queue, error)
                self._loop.call_soon_threadsafe(self._on_error)
                return
        if due:
            self._repeats.over()

    def _renew(self, holds: Sequence[Hold]) -> None:
        call = extend_many(self._keys, [(hold.job, hold.token) for hold in holds], lease_ms=self._lease_ms)
        assert self._client is not None
        sent_ms = self._clock.monotonic_ms()
        answer = self._client.run(call, reply_timeout_ms=self._patience_ms)
        taken_ms = self._clock.monotonic_ms() - sent_ms
        LOG.debug("queue %s: %d leases renewed in %d ms", self._keys.queue, len(holds), taken_ms)
        refused = set(answer.jobs)
        for hold in holds:
            if hold.job not in refused:
                hold.deadline_ms = sent_ms + self._lease_ms
            elif not hold.is_ended:
                self._lose(hold, "its renewal was refused: the job is gone or another attempt holds it")

    def _find_lapsed(self, *, slack_ms: int = 0) -> None:
        now_ms = self._clock.monotonic_ms() - slack_ms
        for hold in self._holds.all():
            if hold.deadline_ms <= now_ms and hold.lost is None and not hold.is_ended:
                self._lose(hold, "its lease ran out before it could be renewed")

    def _lose(self, hold: Hold, why: str) -> None:
        hold.lost = why
        self._loop.call_soon_threadsafe(self._on_lost, hold)

    def _running_in_loop(self) -> list[Hold]:
        return [hold for hold in self._holds.all() if hold.task is not None and not hold.is_ended]


def _end(ended: "asyncio.Future[None]", crash: BaseException | None) -> None:
    if ended.done():
        return
    if crash is None:
        ended.set_result(None)
    else:
        ended.set_exception(crash)
