"""The blocking driver: runs Calls from plain threads.

    with BlockingClient(ConnectionOptions(url="unix:///run/valkey.sock")) as client:
        answer = client.run(enqueue(keys, job, b"payload"))

It starts no thread. One exchange at a time holds the lock, so threads may share a client and take turns; give each
thread a client of its own where they should not wait for one another. In a forked child a client that its parent used
makes connections of its own.
"""

import os
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

from echomq.carriers.carrier import AnyCall, NewCarrier
from echomq.carriers.module import ModuleCarrier
from echomq.clock import SYSTEM_DICE, Dice
from echomq.drivers._blocking_link import BlockingLink, NotSent
from echomq.drivers._raw import Part, answer_or_error, command_call
from echomq.drivers.address import Address, parse_address
from echomq.drivers.backoff import delay_ms
from echomq.drivers.blocking_subscription import BlockingSubscription
from echomq.drivers.route import Route, SingleNode
from echomq.drivers.tls import tls_context
from echomq.errors import Closed, ConnectionFailed, ConnectTimeout, Disconnected, EchoMQError
from echomq.options import LOCAL_URL, ConnectionOptions
from echomq.resp.reply import Reply
from echomq.transitions.call import Call

__all__ = ["BlockingClient"]

Answer = TypeVar("Answer")


class BlockingClient:
    """Runs Calls one exchange at a time. Connects at the first call, and again by itself.

    A call that finds its link dead before a byte was written is sent on a new one. Every method that sends something
    may raise, with nothing sent: `Closed`, `Disconnected` (no link within the reply time-out) or a refusal of the
    greeting (`AuthRefused`, `BootRefused`, `UnexpectedHello`, `VersionFence`). It may raise `Unknown` or its kind
    `ReplyTimeout` when the link was lost after the call was sent; `repeatable` there says whether the same call may be
    sent again.
    """

    def __init__(
        self,
        options: ConnectionOptions,
        *,
        new_carrier: NewCarrier = ModuleCarrier,
        route: Route | None = None,
        dice: Dice = SYSTEM_DICE,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect at the first use. Raises `InvalidOption` for an address that cannot be.

        `pause` waits, in seconds, between two attempts to connect.
        """
        self._options = options
        self._new_carrier = new_carrier
        self._route = SingleNode(parse_address(options.url or LOCAL_URL)) if route is None else route
        self._dice = dice
        self._pause = pause
        self._reply_timeout = options.reply_timeout_ms / 1000
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._links: dict[Address, BlockingLink] = {}
        self._tls: dict[Address, ssl.SSLContext] = {}
        self._attempt = 0
        self._is_closed = False

    @classmethod
    def connect(cls, options: ConnectionOptions, *, new_carrier: NewCarrier = ModuleCarrier) -> Self:
        """Return a client whose link stands. Raises at once what prevents it, instead of trying again."""
        client = cls(options, new_carrier=new_carrier)
        address = client._route.node_for(None)
        client._links[address] = client._connected(address)
        return client

    def run(self, call: Call[Answer], *, reply_timeout_ms: int | None = None) -> Answer:
        """Send one Call and return its answer. Raises what the Call's `decode` raises, and see the class.

        `reply_timeout_ms` replaces the option of that name, for a call that blocks on the server.
        """
        return call.decode(_raised(self._exchange((call,), reply_timeout_ms, is_raw=False)[0]))

    def run_all(self, calls: Sequence[Call[Answer]]) -> list[Answer | EchoMQError]:
        """Send all calls in one write and return their answers in order, an exception in the place of a failed one.

        Each call is atomic on its own; the batch is not, and promises no order among its calls. More calls than
        `in_flight_max` go in several writes. Raises as the class says only when nothing at all was sent.
        """
        answers: list[Answer | EchoMQError] = []
        step = self._options.in_flight_max
        for start in range(0, len(calls), step):
            part = calls[start : start + step]
            try:
                replies = self._exchange(part, None, is_raw=False)
            except EchoMQError as error:
                if not answers:
                    raise
                replies = [error] * len(part)
            answers += [answer_or_error(call, reply) for call, reply in zip(part, replies, strict=True)]
        return answers

    def command(self, *parts: Part, reply_timeout_ms: int | None = None) -> Reply:
        """Send one plain command and return its reply. An error reply is raised as a `ServerError` of its word."""
        call = command_call(parts)
        return call.decode(_raised(self._exchange((call,), reply_timeout_ms, is_raw=True)[0]))

    def subscribe(self, *channels: bytes | str) -> BlockingSubscription:
        """Return the messages of channels, over a connection of their own; see `BlockingSubscription`."""
        if self._is_closed:
            raise Closed("this client was closed: open a new one")
        return BlockingSubscription(
            lambda: self._connected(self._route.node_for(None)),
            self._options,
            [channel if isinstance(channel, bytes) else channel.encode() for channel in channels],
            dice=self._dice,
        )

    def close(self) -> None:
        """Wait for the exchange of another thread, take no more calls and close. May be repeated."""
        if self._pid != os.getpid():
            self._begin_anew_after_fork()
        with self._lock:
            self._is_closed = True
            self._drop_links()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _exchange(
        self, calls: Sequence[AnyCall], reply_timeout_ms: int | None, *, is_raw: bool
    ) -> list[Reply | EchoMQError]:
        if self._pid != os.getpid():
            self._begin_anew_after_fork()
        wait_s = self._reply_timeout if reply_timeout_ms is None else reply_timeout_ms / 1000
        deadline = time.monotonic() + wait_s
        if not self._lock.acquire(blocking=False) and not self._lock.acquire(timeout=wait_s):
            raise Disconnected("the calls of other threads held this client for the whole time of this one")
        try:
            return self._exchange_locked(calls, deadline, wait_s, is_raw=is_raw)
        finally:
            self._lock.release()

    def _exchange_locked(
        self, calls: Sequence[AnyCall], deadline: float, wait_s: float, *, is_raw: bool
    ) -> list[Reply | EchoMQError]:
        first = calls[0].keys
        address = self._route.node_for(first[0] if first else None)
        while True:
            link = self._usable(address, deadline)
            try:
                results = link.exchange(calls, deadline, wait_s, is_raw=is_raw)
            except NotSent as dead:
                if time.monotonic() > deadline:
                    raise dead.error from None
            except BaseException:
                # An exchange that was broken off (Ctrl-C) leaves replies behind that belong to nobody.
                self._links.pop(address).close()
                raise
            else:
                self._attempt = 0
                self._learn(address, link)
                return results

    def _learn(self, address: Address, link: BlockingLink) -> None:
        """Let the route see what was refused, and give up a link that leads to the wrong node."""
        for reply in link.refusals:
            if self._route.refused(address, reply):
                self._links.pop(address).close()
                return

    def _usable(self, address: Address, deadline: float) -> BlockingLink:
        """Return the link to a node, or a new one: at once if the old one died, then after growing pauses."""
        if self._is_closed:
            raise Closed("this client was closed: open a new one")
        link = self._links.get(address)
        if link is not None:
            if link.is_usable():
                return link
            self._links.pop(address).close()
        while True:
            try:
                link = self._links[address] = self._connected(address, deadline)
            except (Disconnected, ConnectTimeout) as error:
                self._wait_before_next(address, deadline, error)
            else:
                return link

    def _wait_before_next(self, address: Address, deadline: float, error: ConnectionFailed) -> None:
        options = self._options
        wait_ms = delay_ms(
            self._attempt, self._dice, first_ms=options.reconnect_first_ms, last_ms=options.reconnect_last_ms
        )
        self._attempt += 1
        left = deadline - time.monotonic()
        if left <= wait_ms / 1000:
            raise Disconnected(f"no connection to {address} within the time of this call ({error})") from error
        self._pause(wait_ms / 1000)

    def _connected(self, address: Address, deadline: float | None = None) -> BlockingLink:
        """Connect by one attempt, within the connect time-out and, for a call, within the time of that call."""
        if address.tls is not None and address not in self._tls:
            self._tls[address] = tls_context(address.tls)
        options = self._options
        if deadline is not None:
            left_ms = max(round((deadline - time.monotonic()) * 1000), 1)
            if left_ms < options.connect_timeout_ms:
                options = replace(options, connect_timeout_ms=left_ms)
        return BlockingLink(address, options, self._new_carrier(), self._tls.get(address))

    def _drop_links(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _begin_anew_after_fork(self) -> None:
        """Close this process's copies of the parent's sockets, which says nothing to the server, and begin anew.

        The lock is made anew as well: another thread of the parent may have held it at the fork.
        """
        self._lock = threading.Lock()
        self._drop_links()
        self._pid = os.getpid()


def _raised(result: Reply | EchoMQError) -> Reply:
    if isinstance(result, EchoMQError):
        raise result
    return result
