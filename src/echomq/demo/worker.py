"""A worker process of the demo: ``python -m echomq.demo.worker``.

The demo writes one line of orders to its standard input and keeps that open. Another line, ``go``, lets a held job go
on; the end of the input means stop, so no worker outlives the demo, however that ends. When it can serve, the worker
writes ``ready`` to its standard output.
"""

import asyncio
import signal
import sys
import threading
from pathlib import Path
from typing import IO, Final

import msgspec

from echomq.app import EchoMQ
from echomq.demo.handler import FileReader
from echomq.demo.journal import JournalWriter
from echomq.worker import Worker, WorkerOptions

__all__ = ["Holder", "Orders", "main", "serve"]

_HOLD_S: Final = 20.0


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told: where the jobs are, and how to treat them.

    `hold_at`: the job that it starts as its so-manieth is held until the demo says go; None holds none.
    """

    url: str
    queue: str
    journal: str
    lease_ms: int
    beat_ms: int
    result_ttl_ms: int
    hold_at: int | None = None


class Holder:
    """Keeps the thread of one job until it is let go, so that even a small run has a middle to be killed in.

    The other threads go on. A worker that nobody lets go or kills goes on by itself after a while.
    """

    def __init__(self, at: int | None) -> None:
        self._at = at
        self._may_go = threading.Event()

    def __call__(self, started: int) -> None:
        """Wait if this is the job to hold."""
        if started == self._at:
            self._may_go.wait(_HOLD_S)

    def let_go(self) -> None:
        """Let the held job go on, and hold none from now on."""
        self._may_go.set()


async def serve(orders: Orders, commands: IO[bytes], reader: FileReader, holder: Holder) -> None:
    """Work until the input ends."""
    options = WorkerOptions(
        lease_ms=orders.lease_ms,
        beat_ms=orders.beat_ms,
        result_ttl_ms=orders.result_ttl_ms,
        # On a machine that stands still for seconds, short leases lapse although nobody was killed. That is no failure.
        max_attempts=10,
        reap_every_ms=250,
        grace_ms=5_000,
    )
    async with EchoMQ(orders.url) as app:
        worker = Worker(app, orders.queue, reader.handle, options=options)
        # A daemon, because a read of the input cannot be called off.
        threading.Thread(target=_obey, args=(commands, worker, holder), daemon=True).start()
        print("ready", flush=True)
        await worker.run()


def _obey(commands: IO[bytes], worker: Worker, holder: Holder) -> None:
    for line in commands:
        if line == b"go\n":
            holder.let_go()
    holder.let_go()
    worker.stop()


def main() -> int:
    """Read the orders and follow them."""
    # Ctrl-C in a terminal reaches the whole group; the demo decides when its workers stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Unbuffered: a thread that still reads a buffered input when Python ends is a fatal error.
    commands = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - standard input stays open
    orders = msgspec.json.decode(commands.readline(), type=Orders)
    journal = JournalWriter(Path(orders.journal))
    holder = Holder(orders.hold_at)
    try:
        asyncio.run(serve(orders, commands, FileReader(journal, holder), holder))
    finally:
        journal.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
