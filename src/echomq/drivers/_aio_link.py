"""One connection of the asyncio driver: a socket and two timers around `resp.connection`.

All calls of one turn of the loop leave in one write: `submit` queues, and one callback at the end of the turn writes.
While the transport says that the peer reads too slowly nothing more is handed to it, so those calls stay honestly
unsent.

Time-outs need one timer, not one for each call. It is set to the earliest deadline known, and looks through all that
wait only when it fires, every few seconds at most. A call that it finds late ends the link: replies come in order, so
everybody behind it waits as well, and a peer that is silent may be dead.
"""

import asyncio
import os
import select
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from echomq.carriers.carrier import Carrier
from echomq.drivers._aio_pending import NotSent, OfBatch, OneCall, Own, Pending
from echomq.errors import (
    Closed,
    Disconnected,
    EchoMQError,
    ProtocolError,
    ReplyTimeout,
    Unknown,
)
from echomq.resp.connection import Connection, Phase, pack
from echomq.resp.greeting import GreetingSettings
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Transition

__all__ = ["Link"]

_PING: Final = pack((b"PING",))

# A timer that fires this much late means that the loop itself was blocked, not the peer. Replies may be waiting unread.
_BLOCKED_S: Final = 0.05

_TURNS_TO_READ: Final = 2
_NEVER: Final = float("inf")


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
        self._is_ended = False
        self._heard_at = loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = _NEVER
        self._looks_again = False
        self._poll: select.poll | None = None
        self._turns_to_wait = 0

    # --- for the owner ---------------------------------------------------------------------------------------------

    def carries(self, transition: Transition) -> bool:
        """Say whether calls of a transition can be submitted: one that waits can not to every server."""
        return self._carrier.carries(transition)

    def submit(self, pending: OneCall | OfBatch) -> None:
        """Queue one call. Raises, with nothing queued, when the link takes none."""
        call = pending.call
        if pending.is_raw:
            self.connection.send(pending, pack(call.args))
        else:
            command = self._carrier.carry(call)
            load = self._load(call.transition)
            if load is None:
                self.connection.send(pending, command)
            else:
                self.connection.send_all((pending,), (command,), before=(load,))
        if pending.deadline < self._timer_at:
            self._set_timer(pending.deadline)
        self._flush_soon()

    def submit_all(self, batch: list[OfBatch]) -> None:
        """Queue the calls of a batch, all or none."""
        carry = self._carrier.carry
        commands = [carry(pending.call) for pending in batch]
        loads = [load for pending in batch if (load := self._load(pending.call.transition)) is not None]
        self.connection.send_all(batch, commands, before=loads)
        if batch[0].deadline < self._timer_at:
            self._set_timer(batch[0].deadline)
        self._flush_soon()

    def subscribe(self, channels: list[bytes], then: Callable[[Reply], None]) -> None:
        """Queue a SUBSCRIBE; `then` takes the last confirmation or the error."""
        own = Own(self._loop.time() + self._reply_timeout, then)
        self.connection.subscribe(own, channels)
        self._set_timer(min(own.deadline, self._timer_at))
        self._flush_soon()

    def ask(self, command: bytes, *, deadline: float, then: Callable[[Reply], None]) -> None:
        """Queue a packed command of the owner's; `then` takes the reply, errors too, unless the link is lost before."""
        self.connection.send(Own(deadline, then), command)
        self._set_timer(min(deadline, self._timer_at))
        self._flush_soon()

    def retire(self) -> None:
        """Take no more calls, wait for the replies that are due, then close."""
        match self.connection.phase:
            case Phase.GREETING:
                self.drop(Closed(f"the connection to {self._name} was closed while it was made"))
            case Phase.READY:
                self.connection.close()
                self._tell_owner()
                if self.connection.is_drained:
                    self._close()
            case Phase.CLOSING | Phase.DEAD:
                pass  # it is on its way already

    def drop(self, error: EchoMQError) -> None:
        """Give up the link at once. Calls that were sent become `Unknown`, the others `Disconnected`."""
        self._end(error)
        if self.transport is not None:
            self.transport.abort()

    def end_writing(self) -> None:
        """End our half of the stream: what is queued stays unsent, and the peer ends its half when it has read ours."""
        self._is_ended = True
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if transport.can_write_eof():
            transport.write_eof()
        else:
            transport.close()  # TLS says goodbye by itself

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
        self._poll = _poll_of(self.transport)
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
        """Write what is queued.

        A link that idled may have been closed by the peer without our having read it. So its socket is looked at first,
        and if there is something to read, writing waits for two turns of the loop, in which that is read: the calls are
        then unsent, and not unknown.
        """
        self._flush_is_due = False
        connection, transport = self.connection, self.transport
        if self._is_paused or self._is_ended or transport is None:
            return
        if self._turns_to_wait:
            self._turns_to_wait -= 1
            if self._turns_to_wait:
                self._flush_soon()
                return
        elif connection.is_idle and self._poll is not None and self._poll.poll(0):
            self._turns_to_wait = _TURNS_TO_READ
            self._flush_soon()
            return
        data = connection.take()
        if data:
            transport.write(data)
            if self._poll is not None and transport.is_closing():
                # The write failed as a whole; one that failed half-way would have been buffered and failed later.
                connection.untake()

    def _load(self, transition: Transition) -> tuple[Pending, bytes] | None:
        command = self._carrier.prepare(transition)
        if command is None:
            return None
        return Own(self._loop.time() + self._reply_timeout, partial(self._prepared, transition)), command

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
            self._carrier.greeted(self.connection.greeted)
            self.ready.set_result(None)
            self._set_timer(self._heard_at + self._ping_interval)

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
                pending.fail(NotSent(f"{pending.call.about} was not sent: {error}"))
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

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        """See whether something is wrong, and set the timer to the next instant at which something could be."""
        now, was_due_at = self._loop.time(), self._timer_at
        waiting = self.connection.waiting
        if not waiting and self.connection.is_ready and now >= self._heard_at + self._ping_interval:
            self.connection.send_besides(Own(now + self._reply_timeout, _ignore), _PING)
            self._flush()
        if not waiting:
            self._set_timer(self._heard_at + self._ping_interval)
            return
        earliest = min(pending.deadline for pending in waiting)
        if now < earliest:
            self._set_timer(earliest)
        elif now - was_due_at > _BLOCKED_S and not self._looks_again:
            self._looks_again = True
            self._set_timer(now + _BLOCKED_S)
        else:
            self.drop(_Late(f"no reply from {self._name} within its time"))


class _Late(Disconnected):
    """The oldest reply did not come in time."""


def _poll_of(transport: asyncio.Transport) -> "select.poll | None":
    """Return what looks at the socket of a plain transport. Over TLS a readable socket says nothing."""
    plain = transport.get_extra_info("socket")
    if plain is None or transport.get_extra_info("ssl_object") is not None:
        return None
    poll = select.poll()
    poll.register(plain.fileno(), select.POLLIN)
    return poll


def _ignore(_: Reply) -> None:
    pass
