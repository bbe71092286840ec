"""One connection of the blocking driver: a socket around `resp.connection`. One thread at a time may use it."""

import select
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from typing import Final

from echomq.carriers.carrier import AnyCall, Carrier
from echomq.drivers._raw import greeting_of
from echomq.drivers.address import Address
from echomq.errors import (
    ConnectTimeout,
    Disconnected,
    EchoMQError,
    ReplyTimeout,
    Unknown,
)
from echomq.options import ConnectionOptions
from echomq.resp.connection import Connection, pack
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Transition

__all__ = ["BlockingLink", "NotSent"]

_READ_BYTES: Final = 16384
_SPINS_IN_VAIN_MAX: Final = 5
_PING: Final = pack((b"PING",))

# One call of an exchange by its place in it, or a script that is being loaded.
_Entry = int | Transition
# The place of a command of the link itself.
_OWN: Final = -1

_LATE: Final = (TimeoutError, BlockingIOError, ssl.SSLWantReadError)


class NotSent(Exception):
    """The link was found dead before a single byte was written, so the calls may be sent on another one."""

    def __init__(self, error: EchoMQError) -> None:
        super().__init__(str(error))
        self.error = error


class _Late(Disconnected):
    """No reply came in time."""


class BlockingLink:
    """One connection, greeted. Raises `ConnectionFailed` when it cannot be made; it is closed then.

    A reply of a near server comes within tens of microseconds, and a sleeping thread wakes up in as many. So the first
    read of an exchange looks a short time (`spin_us`) before it sleeps. Where that finds nothing, as with a far server
    or one that shares our core, it is tried ever more rarely.

    Time-outs of a plain socket are the kernel's (SO_RCVTIMEO): Python's own would cost a second system call for each
    read, a tenth of a round trip.
    """

    def __init__(
        self, address: Address, options: ConnectionOptions, carrier: Carrier, tls: ssl.SSLContext | None
    ) -> None:
        self.address = address
        self.has_answered = False
        self.refusals: list[ErrorReply] = []
        self._options = options
        self._carrier = carrier
        self._connection: Connection[_Entry] = Connection(greeting_of(address, options))
        self._keeps_pushes = False
        self._pushes: list[Reply] = []
        self._wait_s = 0.0
        self._spin_s = options.spin_us / 1e6
        self._spins_in_vain = 0
        self._sleeps_due = 0
        deadline = time.monotonic() + options.connect_timeout_ms / 1000
        self._socket = self._opened(deadline, tls)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        try:
            self._greet(deadline)
            if self._connection.greeted is not None:
                carrier.greeted(self._connection.greeted)
        except BaseException:
            self.close()
            raise
        self._heard_at = time.monotonic()

    @property
    def resp(self) -> int:
        """The protocol version spoken."""
        return 2 if self._connection.greeted is None else self._connection.greeted.resp

    def close(self) -> None:
        """Close this process's copy of the socket. May be repeated."""
        self._connection.end(Disconnected("closed"))
        self._socket.close()

    def is_usable(self) -> bool:
        """Say whether calls may be sent: nothing says that the link is dead, and an idle one has answered a PING."""
        if not self._connection.is_ready:
            return False
        try:
            if self._poll.poll(0):
                self._read_what_is_there()
            if time.monotonic() - self._heard_at > self._options.ping_interval_ms / 1000:
                self._ping()
        except (EchoMQError, OSError):
            return False
        return self._connection.is_ready

    def exchange(
        self, calls: Sequence[AnyCall], deadline: float, wait_s: float, *, is_raw: bool
    ) -> list[Reply | EchoMQError]:
        """Send calls in one write and return their replies in order, an error in the place of a lost one.

        Raises `NotSent` when nothing was written. After a lost link `is_usable` says no.
        """
        results: list[Reply | EchoMQError] = [None] * len(calls)
        self._queue(calls, is_raw=is_raw)
        if self.refusals:
            self.refusals = []
        if wait_s != self._wait_s:
            self._wait_at_most(wait_s)
        connection = self._connection
        try:
            self._write(connection.take(), is_first=True)
            if self._spin_s:
                self._look_for_reply()
            while True:
                self._settle(self._receive(), calls, results, is_raw=is_raw)
                self._check(deadline)
                if not connection.in_flight:
                    break
                self._write(connection.take(), is_first=False)
        except (EchoMQError, OSError) as error:
            self._give_up(calls, results, error)
        self.has_answered = True
        return results

    def subscribe(self, channels: Sequence[bytes], deadline: float) -> Reply:
        """Subscribe and return the last confirmation, or the error reply. Raises `Disconnected` for a lost link."""
        self._keeps_pushes = True
        self._connection.subscribe(_OWN, channels)
        try:
            self._write(self._connection.take(), is_first=False)
            while True:
                for entry, reply in self._receive():
                    if entry == _OWN:
                        return reply
                self._check(deadline)
        except OSError as error:
            raise Disconnected(f"the connection to {self.address} was lost ({error})") from error

    def pushes(self, wait_s: float) -> list[Reply]:
        """Wait for pushes and return them, or nothing at the end of the wait. Raises for a lost link."""
        self._wait_at_most(max(wait_s, 0.001))
        try:
            if not self._pushes:
                self._receive()
                self._check(None)
        except _Late:
            pass
        except OSError as error:
            raise Disconnected(f"the connection to {self.address} was lost ({error})") from error
        pushes, self._pushes = self._pushes, []
        return pushes

    # --- inside ----------------------------------------------------------------------------------------------------

    def _opened(self, deadline: float, tls: ssl.SSLContext | None) -> socket.socket:
        address = self.address
        try:
            plain = _plain_socket(address, deadline)
        except TimeoutError:
            raise self._too_slow() from None
        except (OSError, UnicodeError) as error:
            raise Disconnected(f"{address} cannot be reached ({error})") from error
        if tls is None:
            return plain
        try:
            return tls.wrap_socket(plain, server_hostname=address.host)
        except TimeoutError:
            plain.close()
            raise self._too_slow() from None
        except OSError as error:
            plain.close()
            raise Disconnected(f"{address} cannot be reached over TLS ({error})") from error

    def _greet(self, deadline: float) -> None:
        self._wait_at_most(max(deadline - time.monotonic(), 0.001))
        try:
            while not self._connection.is_ready:
                self._write(self._connection.take(), is_first=False)
                self._receive()
                self._check(deadline)
        except _Late:
            raise self._too_slow() from None
        except OSError as error:
            raise Disconnected(f"{self.address} was lost while it was greeted ({error})") from error

    def _queue(self, calls: Sequence[AnyCall], *, is_raw: bool) -> None:
        connection, carrier = self._connection, self._carrier
        if is_raw:
            connection.send_all(range(len(calls)), [pack(call.args) for call in calls])
            return
        commands = [carrier.carry(call) for call in calls]
        loads: list[tuple[_Entry, bytes]] = []
        for call in calls:
            load = carrier.prepare(call.transition)
            if load is not None:
                loads.append((call.transition, load))
        connection.send_all(range(len(calls)), commands, before=loads)

    def _settle(
        self,
        done: list[tuple[_Entry | None, Reply]],
        calls: Sequence[AnyCall],
        results: list[Reply | EchoMQError],
        *,
        is_raw: bool,
    ) -> None:
        for entry, reply in done:
            if isinstance(entry, int):
                results[entry] = (
                    self._refused(entry, calls[entry], reply, is_raw=is_raw) if isinstance(reply, ErrorReply) else reply
                )
            elif entry is not None:
                self._carrier.prepared(entry, reply)

    def _refused(self, place: int, call: AnyCall, reply: ErrorReply, *, is_raw: bool) -> Reply:
        """Send the call again if its carrier says so, or return its reply."""
        if is_raw:
            self.refusals.append(reply)
            return reply
        again = self._carrier.again(call, reply)
        if again is not None:
            self._connection.send_besides(place, again)
            return None
        self.refusals.append(reply)
        return self._carrier.explain(call, reply)

    def _give_up(self, calls: Sequence[AnyCall], results: list[Reply | EchoMQError], error: Exception) -> None:
        """End the link and say of each call that has no reply that it is unknown what became of it."""
        own = error if isinstance(error, EchoMQError) else Disconnected(f"the connection was lost ({error})")
        kind = ReplyTimeout if isinstance(error, _Late) else Unknown
        lost = self._connection.end(own)
        self._socket.close()
        for entry in (*lost.sent, *lost.unsent):
            if isinstance(entry, int):
                call = calls[entry]
                results[entry] = kind(
                    call.about, repeatable=call.transition.repeatable, reason=f"the link was lost ({own})"
                )

    def _write(self, data: bytes, *, is_first: bool) -> None:
        """Write all of it. Raises `NotSent` when the very first write of an exchange fails as a whole."""
        if not data:
            return
        try:
            sent = self._socket.send(data)
        except OSError as error:
            if not is_first or isinstance(error, _LATE):
                raise
            self.close()
            raise NotSent(Disconnected(f"the connection to {self.address} was lost ({error})")) from error
        if sent < len(data):
            self._socket.sendall(memoryview(data)[sent:])

    def _look_for_reply(self) -> None:
        """Return when there is something to read, or when looking for it takes too long."""
        if self._sleeps_due:
            self._sleeps_due -= 1
            return
        poll, now = self._poll.poll, time.monotonic
        until = now() + self._spin_s
        while not poll(0):
            if now() > until:
                self._spins_in_vain = min(self._spins_in_vain + 1, _SPINS_IN_VAIN_MAX)
                self._sleeps_due = (1 << self._spins_in_vain) - 1
                return
        self._spins_in_vain = 0

    def _receive(self) -> list[tuple[_Entry | None, Reply]]:
        """Read once. Raises `_Late`, or `Disconnected` at the end of the stream. `_check` is due afterwards."""
        try:
            return self._taken(self._socket.recv(_READ_BYTES))
        except _LATE:
            raise self._late() from None

    def _check(self, deadline: float | None) -> None:
        """Raise what the last bytes broke, or that time is up; to be called when what came with them is settled."""
        connection = self._connection
        if connection.error is not None:
            raise connection.error
        if deadline is not None and self._heard_at > deadline and (connection.in_flight or not connection.is_ready):
            raise self._late()

    def _taken(self, data: bytes) -> list[tuple[_Entry | None, Reply]]:
        if not data:
            raise Disconnected(f"the connection to {self.address} was lost (the peer closed it)")
        self._heard_at = time.monotonic()
        done = self._connection.receive(data)
        if self._keeps_pushes:
            self._pushes += [reply for entry, reply in done if entry is None]
        return done

    def _read_what_is_there(self) -> None:
        """Read without waiting: pushes, records of TLS, or the end of the stream."""
        self._socket.settimeout(0)
        try:
            data = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        finally:
            wait_s, self._wait_s = self._wait_s, 0.0
            self._socket.settimeout(None)
            self._wait_at_most(wait_s)
        self._taken(data)
        self._check(None)

    def _ping(self) -> None:
        self._wait_at_most(self._options.reply_timeout_ms / 1000)
        self._connection.send_besides(_OWN, _PING)
        self._write(self._connection.take(), is_first=False)
        while self._connection.in_flight:
            self._receive()
            self._check(None)

    def _wait_at_most(self, seconds: float) -> None:
        if seconds == self._wait_s:
            return
        self._wait_s = seconds
        if isinstance(self._socket, ssl.SSLSocket):
            self._socket.settimeout(seconds)
            return
        self._socket.settimeout(None)
        whole = int(seconds)
        kernel = struct.pack("ll", whole, max(int((seconds - whole) * 1e6), 0 if whole else 1))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, kernel)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, kernel)

    def _late(self) -> "_Late":
        return _Late(f"no reply from {self.address} within its time")

    def _too_slow(self) -> ConnectTimeout:
        return ConnectTimeout(f"no connection to {self.address} within {self._options.connect_timeout_ms} ms")


def _plain_socket(address: Address, deadline: float) -> socket.socket:
    seconds = max(deadline - time.monotonic(), 0.001)
    if address.unix_path is None:
        plain = socket.create_connection((address.host, address.port), timeout=seconds)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return plain
    plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        plain.settimeout(seconds)
        plain.connect(address.unix_path)
    except BaseException:
        plain.close()
        raise
    return plain
