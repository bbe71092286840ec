"""Jobs that the server says are there, and gives to nobody: another program damaged the keys of their lanes."""

import logging

from echomq.worker.counts import WorkerCounts
from echomq.worker.log import LOG
from echomq.worker.repeats import Repeats
from echomq.worker.vain import Vain

__all__ = ["HeldUp"]


class HeldUp:
    """Asks in a row that brought nothing though there is more: how long to wait before the next one."""

    def __init__(self, queue: str, counts: WorkerCounts, vain: Vain) -> None:
        self._queue = queue
        self._counts = counts
        self._vain = vain
        self._repeats = Repeats()

    def wait_ms(self) -> float:
        """Note one more and return how long to wait, 0 for not at all. A wait is an error, counted and told.

        It is no parking: a wake-up that cannot be used is handed on, and would come back to us.
        """
        wait_ms = self._vain.wait_ms()
        if wait_ms:
            self._counts.errors += 1
            LOG.log(
                logging.ERROR if self._repeats.is_loud("held up") else logging.DEBUG,
                "queue %s: jobs wait in lanes that cannot be served, because their keys are damaged: another program"
                " wrote to them",
                self._queue,
            )
        return wait_ms

    def over(self) -> None:
        """Note that an ask brought something, or that there is nothing more."""
        self._vain.over()
        self._repeats.over()
