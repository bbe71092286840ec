"""One connection of the asyncio driver: a socket and two timers around `resp.connection`.

All calls of one turn of the loop leave in one write: `submit` queues, and one callback at the end of the turn writes.
While the transport says that the peer reads too slowly nothing more is handed to it, so those calls stay honestly
unsent.

Time-outs need one timer, not one for each call: replies come in order, so only the oldest call can be the first one
late. The timer that finds it late gives up the link, since a reply that comes after its caller left could be taken for
the next one's by nobody but would keep everybody behind it waiting.
"""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from echomq.carriers.carrier import Carrier
from echomq.drivers._aio_pending import OfBatch, OneCall, Own, Pending
from echomq.errors import (
    Closed,
    Disconnected,
    EchoMQError,
    ProtocolError,
    ReplyTimeout,
    Unknown,
)
from echomq.resp.connection import Connection, pack
from echomq.resp.greeting import GreetingSettings
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Transition

__all__ = ["Link"]

_PING: Final = pack((b"PING",))

# A timer that fires this much late means that the loop itself was blocked, not the peer. Replies may be waiting unread.
_BLOCKED_S: Final = 0.05


class Link(asyncio.Protocol):
    """One connection. Its owner is told by `on_end` once, as soon as it takes no more calls.

    `ready` ends when the server was greeted, or with the error that prevented it; `ended` when the socket is closed.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: GreetingSettings,
        carrier: Carrier,
        *,
        name: str,
        on_end: "Callable[[Link], None]",
        on_error: Callable[[ErrorReply], bool],
        on_push: Callable[[list[Reply]], None] | None = None,
    ) -> None:
        self.connection: Connection[Pending] = Connection(settings)
        self.ready: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.has_answered = False
        self.transport: asyncio.Transport | None = None
        self._loop = loop
        self._name = name
        self._carrier = carrier
        self._on_end: Callable[[Link], None] | None = on_end
        self._on_error = on_error
        self._on_push = on_push
        self._reply_timeout = settings.options.reply_timeout_ms / 1000
        self._ping_interval = settings.options.ping_interval_ms / 1000
        self._flush_is_due = False
        self._is_paused = False
        self._heard_at = loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._looks_again = False

    # --- for the owner ---------------------------------------------------------------------------------------------

    def submit(self, pending: OneCall | OfBatch) -> None:
        """Queue one call. Raises, with nothing queued, when the link takes none."""
        connection = self.connection
        call = pending.call
        if pending.is_raw:
            connection.send(pending, pack(call.args))
        else:
            command = self._carrier.carry(call)
            self._prepare(call.transition)
            connection.send(pending, command)
        self._flush_soon()

    def submit_all(self, batch: list[OfBatch]) -> None:
        """Queue the calls of a batch, all or none."""
        carry = self._carrier.carry
        commands = [carry(pending.call) for pending in batch]
        for pending in batch:
            self._prepare(pending.call.transition)
        self.connection.send_all(batch, commands)
        self._flush_soon()

    def subscribe(self, channels: list[bytes], then: Callable[[Reply], None]) -> None:
        """Queue a SUBSCRIBE; `then` takes the last confirmation or the error."""
        self.connection.subscribe(Own(self._loop.time() + self._reply_timeout, then), channels)
        self._flush_soon()

    def retire(self) -> None:
        """Take no more calls, wait for the replies that are due, then close."""
        if not self.connection.is_ready:
            self.drop(Closed(f"the connection to {self._name} was closed while it was made"))
            return
        self.connection.close()
        self._tell_owner()
        if self.connection.is_drained:
            self._close()

    def drop(self, error: EchoMQError) -> None:
        """Give up the link at once. Calls that were sent become `Unknown`, the others `Disconnected`."""
        self._end(error)
        if self.transport is not None:
            self.transport.abort()

    def disown(self) -> None:
        """Replace the socket, in this process only, by a file that leads nowhere. For a child after a fork.

        The transport stays as it is: it is registered with the parent's poller, and closing it would reach there.
        """
        transport_socket = None if self.transport is None else self.transport.get_extra_info("socket")
        descriptor = -1 if transport_socket is None else transport_socket.fileno()
        if descriptor >= 0:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)

    # --- from the loop ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the greeting."""
        # The stream transports of other loops (uvloop) are no subclass of asyncio's.
        self.transport = cast("asyncio.Transport", transport)
        if self.connection.is_dead:
            self.transport.abort()
            return
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Hand replies to those who wait for them."""
        connection = self.connection
        if connection.is_dead:
            return
        self._heard_at = self._loop.time()
        self._looks_again = False
        for pending, reply in connection.receive(data):
            if pending is None:
                self._push(reply)
            elif type(reply) is ErrorReply:
                self._refused(pending, reply)
            else:
                pending.settle(reply)
        self._after_receiving()

    def eof_received(self) -> bool:
        """Close as well."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody who waits."""
        reason = "the peer closed it" if exc is None else str(exc) or type(exc).__name__
        self._end(Disconnected(f"the connection to {self._name} was lost ({reason})"))
        if not self.ended.done():
            self.ended.set_result(None)

    def pause_writing(self) -> None:
        """Keep further commands here."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Write what was kept."""
        self._is_paused = False
        self._flush()

    # --- inside ----------------------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        if self._is_paused or self.transport is None:
            return
        data = self.connection.take()
        if data:
            self.transport.write(data)
            self._watch()

    def _prepare(self, transition: Transition) -> None:
        command = self._carrier.prepare(transition)
        if command is not None:
            own = Own(self._loop.time() + self._reply_timeout, partial(self._prepared, transition))
            self.connection.send_besides(own, command)

    def _prepared(self, transition: Transition, reply: Reply) -> None:
        try:
            self._carrier.prepared(transition, reply)
        except ProtocolError as error:
            self.drop(error)

    def _push(self, push: Reply) -> None:
        if self._on_push is not None and isinstance(push, list):
            self._on_push(push)

    def _refused(self, pending: Pending, reply: ErrorReply) -> None:
        """Repeat the call if its carrier says so; else settle it, and give up a link that leads to the wrong node."""
        if pending.call is not None and not pending.is_raw:
            again = self._carrier.again(pending.call, reply)
            if again is not None and not self.connection.is_dead:
                self.connection.send_besides(pending, again)
                return
            reply = self._carrier.explain(pending.call, reply)
        pending.settle(reply)
        if self._on_error(reply):
            self.retire()

    def _after_receiving(self) -> None:
        connection = self.connection
        if connection.error is not None:
            self.drop(connection.error)
        elif connection.is_drained:
            self._close()
        else:
            self._note_progress()
            self._flush()

    def _note_progress(self) -> None:
        if self.ready.done():
            self.has_answered = True
        elif self.connection.greeted is not None:
            self.ready.set_result(None)
            self._watch()

    def _end(self, error: EchoMQError) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._loop.time()
        lost = self.connection.end(error)
        reason = f"the link was lost ({error})"
        for pending in lost.sent:
            if pending.call is not None:
                kind = ReplyTimeout if isinstance(error, _Late) and pending.deadline <= now else Unknown
                call = pending.call
                pending.fail(kind(call.about, repeatable=call.transition.repeatable, reason=reason))
        for pending in lost.unsent:
            if pending.call is not None:
                pending.fail(Disconnected(f"{pending.call.about} was not sent: {error}"))
        if not self.ready.done():
            self.ready.set_exception(self.connection.error or error)
            self.ready.exception()  # the owner may have stopped waiting; that is no warning
        self._tell_owner()

    def _tell_owner(self) -> None:
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end(self)

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.transport is not None:
            self.transport.close()

    def _watch(self) -> None:
        """Set the timer to the next instant at which something could be wrong."""
        oldest = self.connection.oldest
        at = self._heard_at + self._ping_interval if oldest is None else oldest.deadline
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self._loop.time()
        oldest = self.connection.oldest
        if oldest is None:
            if self.connection.is_ready and now >= self._heard_at + self._ping_interval:
                self.connection.send_besides(Own(now + self._reply_timeout, _ignore), _PING)
                self._flush()
        elif now >= oldest.deadline:
            if now - self._timer_at > _BLOCKED_S and not self._looks_again:
                self._looks_again = True
                self._timer_at = now + _BLOCKED_S
                self._timer = self._loop.call_at(self._timer_at, self._look)
                return
            self.drop(_Late(f"no reply from {self._name} within its time"))
            return
        self._watch()


class _Late(Disconnected):
    """The oldest reply did not come in time."""


def _ignore(_: Reply) -> None:
    pass
