"""Running a worker until the process is told to end."""

import asyncio
import signal
from collections.abc import Sequence
from typing import Final

from echomq.worker.report import StopReport
from echomq.worker.worker import Worker

__all__ = ["run_until_signal"]

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def run_until_signal(worker: Worker, *, signals: Sequence[signal.Signals] = _SIGNALS) -> StopReport:
    """Run the worker until a signal comes: the first stops it gracefully, the second at once.

    A signal only sets a flag; everything else happens in the loop. Must be called in the main thread. The signals'
    handlers of the loop are taken away at the end. Raises as `Worker.run` does.
    """
    loop = asyncio.get_running_loop()
    for number in signals:
        loop.add_signal_handler(number, worker.stop)
    try:
        return await worker.run(ctrl_c_raises=signal.SIGINT not in signals)
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
