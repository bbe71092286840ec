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

    A signal only sets a flag; everything else happens in the loop. Must be called in the main thread. What the process
    did with these signals before is put back at the end, without a moment between. Raises as `Worker.run` does.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        loop.add_signal_handler(number, worker.stop)
    try:
        return await worker.run(ctrl_c_raises=signal.SIGINT not in signals)
    finally:
        # Taking a handler of the loop away sets the default action: a signal that comes late must not meet it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number] or signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
