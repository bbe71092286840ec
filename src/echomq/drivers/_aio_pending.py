"""What waits for a reply in the asyncio driver: one call, one of a batch, or something of the link's own."""

import asyncio
from collections.abc import Callable, Sequence

from echomq.carriers.carrier import AnyCall
from echomq.errors import Disconnected, EchoMQError
from echomq.resp.reply import Reply

__all__ = ["Batch", "NotSent", "OfBatch", "OneCall", "Own", "Pending"]


class NotSent(Disconnected):
    """The link was lost before the call was written, so another link may carry it."""


class OneCall:
    """A call that a task waits for. A cancelled one keeps its place in the pipeline; its reply is dropped."""

    __slots__ = ("call", "deadline", "future", "is_raw")

    def __init__(self, call: AnyCall, future: "asyncio.Future[Reply]", deadline: float, *, is_raw: bool) -> None:
        self.call = call
        self.future = future
        self.deadline = deadline
        self.is_raw = is_raw

    def settle(self, reply: Reply) -> None:
        """Give the task its reply."""
        if not self.future.done():
            self.future.set_result(reply)

    def fail(self, error: EchoMQError) -> None:
        """Give the task its error."""
        if not self.future.done():
            self.future.set_exception(error)


class Batch:
    """Calls that one task waits for together: one future for all of them."""

    __slots__ = ("_missing", "future", "results")

    def __init__(self, size: int, future: "asyncio.Future[None]") -> None:
        self.results: list[Reply | EchoMQError] = [None] * size
        self.future = future
        self._missing = size

    def put(self, index: int, result: Reply | EchoMQError) -> None:
        """Store one result; the last one wakes the task."""
        self.results[index] = result
        self._missing -= 1
        if not self._missing and not self.future.done():
            self.future.set_result(None)

    def of(self, calls: Sequence[AnyCall], deadline: float) -> "list[OfBatch]":
        """Return what waits for each of the calls."""
        return [OfBatch(call, self, index, deadline) for index, call in enumerate(calls)]


class OfBatch:
    """One call of a batch."""

    __slots__ = ("_batch", "_index", "call", "deadline")

    is_raw = False

    def __init__(self, call: AnyCall, batch: Batch, index: int, deadline: float) -> None:
        self.call = call
        self.deadline = deadline
        self._batch = batch
        self._index = index

    def settle(self, reply: Reply) -> None:
        """Store the reply."""
        self._batch.put(self._index, reply)

    def fail(self, error: EchoMQError) -> None:
        """Store the error."""
        self._batch.put(self._index, error)


class Own:
    """A command of the link itself: a PING, a SUBSCRIBE or the loading of a script. `then` takes the reply."""

    __slots__ = ("deadline", "then")

    call = None

    def __init__(self, deadline: float, then: Callable[[Reply], None]) -> None:
        self.deadline = deadline
        self.then = then

    def settle(self, reply: Reply) -> None:
        """Hand the reply on."""
        self.then(reply)

    def fail(self, error: EchoMQError) -> None:
        """Say nothing: the link's end tells its owner."""


Pending = OneCall | OfBatch | Own
