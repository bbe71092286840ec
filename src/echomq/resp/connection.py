"""One connection to a server as a state machine: bytes in, bytes out, no socket and no clock.

    greeting ──greeted──► ready ──close()──► closing ──last reply──► done
        └──────────────────┴── end(), a broken peer, a refusal ──► dead

What is sent waits in two places: `take()` hands out the bytes to be written, and a queue holds one entry per command
in the order in which the replies must come. An entry is the driver's own object and is never looked into here.

Invariants:
- The queue's order is the order of the bytes, so a reply belongs to the oldest entry, always.
- An entry is *unsent* until `take()` has handed out its bytes. Only unsent entries may be called "not sent" when the
  link is lost; about the others nobody knows.
- After a broken reply the position in the stream is lost. The connection is dead, and each later use says so.

Pushes of RESP3 stand between replies and answer nothing, except that a SUBSCRIBE is answered by pushes alone, one for
each channel. `receive` keeps all of this in order.

A RESP3 attribute is not told apart from a reply by the reader. Servers send one only on request, which nobody makes.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Generic, TypeVar

import hiredis

from echomq.errors import Closed, EchoMQError, Overloaded, ProtocolError, UnexpectedHello
from echomq.resp.greeting import Command, Greeted, GreetingSettings, greet
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["REPLY_BYTES_MAX", "Connection", "Lost", "Phase", "pack"]

Entry = TypeVar("Entry")

REPLY_BYTES_MAX: Final = 1 << 30
"""Bytes of one unfinished reply after which the peer counts as broken."""

# The reader's word for "no whole reply yet". Not False, which is a value of RESP3.
_NOT_YET: Final = object()


class Phase(Enum):
    """Where a connection stands."""

    GREETING = auto()
    READY = auto()
    CLOSING = auto()
    DEAD = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost(Generic[Entry]):
    """What a connection still owed when it ended. Nothing of `unsent` reached the peer; about `sent` nobody knows."""

    sent: Sequence[Entry]
    unsent: Sequence[Entry]


def pack(command: Sequence[bytes | str | int]) -> bytes:
    """Return a command as RESP."""
    return hiredis.pack_command(tuple(command))  # type: ignore[arg-type, no-any-return]  # its stub asks for one part


class Connection(Generic[Entry]):
    """The state of one connection. The driver moves bytes and keeps time; see the top of the file.

    `greeted` is what the greeting found, once the phase is READY.
    """

    __slots__ = (
        "_confirmations",
        "_greeting",
        "_in_flight",
        "_in_flight_max",
        "_out",
        "_reader",
        "_taken",
        "_unsent",
        "error",
        "greeted",
        "phase",
    )

    def __init__(self, settings: GreetingSettings) -> None:
        self.phase = Phase.GREETING
        self.greeted: Greeted | None = None
        self.error: EchoMQError | None = None
        self._in_flight: deque[Entry] = deque()
        self._in_flight_max = settings.options.in_flight_max
        self._unsent = 0
        self._taken = 0
        self._confirmations = 0
        self._reader = hiredis.Reader(replyError=ErrorReply, notEnoughData=_NOT_YET, errors=None)
        self._greeting = greet(settings)
        self._out: list[bytes] = [pack(next(self._greeting))]

    @property
    def in_flight(self) -> int:
        """How many commands wait for their replies."""
        return len(self._in_flight)

    @property
    def waiting(self) -> Collection[Entry]:
        """The entries that wait for their replies, the one whose reply comes next first. To be read only."""
        return self._in_flight

    @property
    def is_idle(self) -> bool:
        """Whether nothing that was written waits for its reply."""
        return len(self._in_flight) == self._unsent

    @property
    def is_ready(self) -> bool:
        """Whether `send` takes a command."""
        return self.phase is Phase.READY

    @property
    def is_dead(self) -> bool:
        """Whether it has ended, see `error`."""
        return self.phase is Phase.DEAD

    @property
    def is_drained(self) -> bool:
        """Whether it was closed and owes nothing any more."""
        return self.phase is Phase.CLOSING and not self._in_flight

    def send(self, entry: Entry, command: bytes) -> None:
        """Queue a packed command. Raises `Overloaded`, `Closed`, or the error that ended this connection.

        A raise means that nothing was queued.
        """
        if self.phase is not Phase.READY:
            raise self._refusal()
        if len(self._in_flight) >= self._in_flight_max:
            raise self._overloaded()
        self._in_flight.append(entry)
        self._unsent += 1
        self._out.append(command)

    def send_all(
        self, entries: Sequence[Entry], commands: Sequence[bytes], *, before: Sequence[tuple[Entry, bytes]] = ()
    ) -> None:
        """Queue packed commands, all or none. Raises as `send` does.

        `before` are commands of the driver's own that must come first; they do not count for the bound.
        """
        if self.phase is not Phase.READY:
            raise self._refusal()
        if len(self._in_flight) + len(entries) > self._in_flight_max:
            raise self._overloaded()
        for entry, command in before:
            self.send_besides(entry, command)
        self._in_flight.extend(entries)
        self._unsent += len(entries)
        self._out.extend(commands)

    def send_besides(self, entry: Entry, command: bytes) -> None:
        """Queue a command of the driver's own, or one that repeats a call: while closing too, and beyond the bound."""
        if self.phase is not Phase.READY and self.phase is not Phase.CLOSING:
            raise self._refusal()
        self._in_flight.append(entry)
        self._unsent += 1
        self._out.append(command)

    def subscribe(self, entry: Entry, channels: Sequence[bytes]) -> None:
        """Queue a SUBSCRIBE. Its reply is the push for the last of the channels, or an error.

        Nothing else may be sent until it has come. Raises as `send` does.
        """
        self.send(entry, pack((b"SUBSCRIBE", *channels)))
        self._confirmations = len(channels)

    def take(self) -> bytes:
        """Return the bytes to write now, empty if there are none. From here on their entries count as sent."""
        if not self._out:
            return b""
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out.clear()
        self._taken = self._unsent
        self._unsent = 0
        return data

    def untake(self) -> None:
        """Say that nothing of what `take` handed out last was written. Only the end of the link may follow."""
        self._unsent += self._taken
        self._taken = 0

    def receive(self, data: bytes) -> list[tuple[Entry | None, Reply]]:
        """Take in bytes and return what they complete: an entry with its reply, or None with a push, in order.

        Look at `error` afterwards: the same bytes may have ended the connection, by a refusal of the greeting or by a
        `ProtocolError`, and what was complete before that is returned all the same. Raises `error` when used later.
        """
        if self.phase is Phase.DEAD:
            raise self._refusal()
        done: list[tuple[Entry | None, Reply]] = []
        try:
            self._receive(data, done)
        except EchoMQError as error:
            self._die(error)
        except (hiredis.HiredisError, TypeError, ValueError, OverflowError, MemoryError) as broken:
            self._die(self._broken(broken, data))
        return done

    def close(self) -> None:
        """Take no further commands. `is_drained` tells when the last reply has come."""
        if self.phase is Phase.READY:
            self.phase = Phase.CLOSING
        elif self.phase is Phase.GREETING:
            self._die(Closed("the connection was closed while it greeted the server"))

    def end(self, error: EchoMQError) -> Lost[Entry]:
        """Say that the link is gone, and get back the entries that were not answered. Harmless when repeated."""
        self._die(self.error or error)
        entries = list(self._in_flight)
        cut = len(entries) - self._unsent
        self._in_flight.clear()
        self._out.clear()
        self._unsent = 0
        return Lost(sent=entries[:cut], unsent=entries[cut:])

    def _receive(self, data: bytes, done: list[tuple[Entry | None, Reply]]) -> None:
        reader, in_flight = self._reader, self._in_flight
        reader.feed(data)
        while (reply := reader.gets()) is not _NOT_YET:
            if type(reply) is hiredis.PushNotification:
                self._push(reply, done)
            elif self.phase is Phase.GREETING:
                self._greet(reply)
            elif len(in_flight) > self._unsent:
                done.append((in_flight.popleft(), reply))
            else:
                raise _unasked(reply)
        if reader.len() > REPLY_BYTES_MAX:
            raise ProtocolError(f"the peer sent {REPLY_BYTES_MAX} bytes that are no whole reply: the link is given up")

    def _push(self, push: list[Reply], done: list[tuple[Entry | None, Reply]]) -> None:
        if self._confirmations and push and push[0] == b"subscribe":
            self._confirmations -= 1
            if not self._confirmations:
                done.append((self._in_flight.popleft(), push))
        else:
            done.append((None, push))

    def _greet(self, reply: Reply) -> None:
        try:
            command: Command = self._greeting.send(reply)
        except StopIteration as end:
            self.greeted = end.value
            self.phase = Phase.READY
        else:
            self._out.append(pack(command))

    def _die(self, error: EchoMQError) -> None:
        self.phase = Phase.DEAD
        self.error = error
        self._greeting.close()

    def _broken(self, cause: Exception, data: bytes) -> EchoMQError:
        if self.phase is Phase.GREETING:
            return UnexpectedHello(data)
        return ProtocolError(f"the peer sent {data!r:.80}, which is no RESP ({cause}): the link is given up")

    def _refusal(self) -> EchoMQError:
        match self.phase:
            case Phase.DEAD if isinstance(self.error, ProtocolError):
                return ProtocolError(f"this connection is dead: {self.error}")
            case Phase.DEAD if self.error is not None:
                return self.error
            case Phase.GREETING:
                return Closed("this connection has not greeted the server yet")
            case _:
                return Closed("this connection is closing and takes no further calls")

    def _overloaded(self) -> EchoMQError:
        return Overloaded(
            f"{len(self._in_flight)} calls wait for their replies and in_flight_max is {self._in_flight_max}: await"
            " some of them first"
        )


def _unasked(reply: Reply) -> ProtocolError:
    shown = reply.text if isinstance(reply, ErrorReply) else reply
    return ProtocolError(f"the peer sent {shown!r:.200} without being asked: the link is given up")
