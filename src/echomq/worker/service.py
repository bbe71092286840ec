"""Start, stop and crash rules that every background loop of a worker shares.

- A service runs from `start` until it is told to `stop` and has put its things in order. Both may be repeated.
- A service that ends without having been told to, in whatever way, has crashed. It is never started again behind the
  worker's back: `first_crash` hands the reason to the worker, which stops the others and raises it.
- Errors that a loop expects (the server's, the link's) it handles itself; `is_final` says which of them no waiting
  can mend.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable

from echomq.errors import AuthRefused, BootRefused, Closed, EchoMQError, LoopEnded, UnexpectedHello, VersionFence

__all__ = ["Service", "first_crash", "is_final"]


def is_final(error: EchoMQError) -> bool:
    """Say whether the client has given up for good: it was closed, or the server refused its greeting."""
    return isinstance(error, AuthRefused | BootRefused | Closed | UnexpectedHello | VersionFence)


class Service(ABC):
    """One background loop. Made, started and stopped in one event loop; used for one run of the worker."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def _serve(self) -> None:
        """Do the work until `is_stopping`, then put things in order and return."""

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping.is_set()

    def start(self) -> None:
        """Begin, unless it was begun, or told to stop, before."""
        if self._task is None and not self.is_stopping:
            self._task = asyncio.get_running_loop().create_task(self._serve(), name=f"echomq {self.name}")

    def stop(self) -> None:
        """Tell it to stop and return at once; `ended` waits for it."""
        self._stopping.set()

    async def ended(self, *, within_ms: int) -> bool:
        """Wait until it has ended; cancel it when it has not in time. Says whether it ended by itself.

        What it raised is for `crash`, not raised here.
        """
        task = self._task
        if task is None:
            return True
        _, late = await asyncio.wait({task}, timeout=within_ms / 1000)
        if late:
            task.cancel()
            await asyncio.wait({task})
        return not late and not task.cancelled()

    async def crash(self) -> BaseException | None:
        """Wait until it has ended and return why, unless it was told to stop and did so in order."""
        task = self._task
        if task is None:
            return None
        await asyncio.wait({task})
        if task.cancelled():
            return LoopEnded(self.name, "was cancelled by somebody else")
        error = task.exception()
        if error is None and not self.is_stopping:
            return LoopEnded(self.name, "ended by itself, which is a bug of echomq")
        return error

    async def _pause(self, wait_ms: float) -> None:
        """Wait for the time given, or until told to stop."""
        try:
            async with asyncio.timeout(wait_ms / 1000):
                await self._stopping.wait()
        except TimeoutError:
            return


async def first_crash(services: Iterable[Service]) -> BaseException:
    """Wait until a service has crashed and return the reason. Waits for ever while all is well."""
    watchers = {asyncio.ensure_future(service.crash()) for service in services}
    try:
        while watchers:
            done, watchers = await asyncio.wait(watchers, return_when=asyncio.FIRST_COMPLETED)
            for watcher in done:
                if (reason := watcher.result()) is not None:
                    return reason
        return LoopEnded("last", "ended, like all before it")
    finally:
        for watcher in watchers:
            watcher.cancel()
