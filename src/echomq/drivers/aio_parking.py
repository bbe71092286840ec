"""Waiting on the server, for asyncio, over a connection of its own.

For a token of a list (protocol 6.1, step 5), and for the answer to a call that the server keeps until it has one:

    token = await parking.park(wait_ms)
    answer = await parking.ask(call, block_ms) if await parking.can_ask(call.transition, wait_ms) else None

A token is waited for by `BLPOP`. The time-out is kept here, to the millisecond: a server looks at the time-outs of
those who are blocked about ten times a second only. So a `BLPOP` may outlive the wait that it was sent for, by a tenth
of a second as a rule. The next wait goes on with it; a token that it gets in between is *held*, and `on_held` says so,
since a token asks for somebody to come.

The answer to a call may hold what nobody else will be given. So nothing but the answer, or the end of the link, ends
that wait; `wake` has the server answer at once.
"""

import asyncio
import math
import os
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from echomq.carriers.carrier import NewCarrier
from echomq.clock import Dice
from echomq.drivers._aio_link import Link
from echomq.drivers._aio_node import Node
from echomq.drivers._aio_pending import OneCall
from echomq.drivers._aio_recall import Unblock, recall, say_goodbye
from echomq.drivers._raw import command_call
from echomq.drivers.address import Address
from echomq.errors import Closed, Disconnected, EchoMQError, UnexpectedReply
from echomq.options import ConnectionOptions
from echomq.resp.connection import pack
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition

__all__ = ["AioParking"]

Answer = TypeVar("Answer")

# A server dates a time-out from the clock that it read when its turn began. The wait here ends first, so that none is
# asked for twice.
_SLACK_MS: Final = 10

# So late a server may look at the time-outs of those who wait.
_SERVER_LATE_MS: Final = 100


class AioParking:
    """Takes tokens from the list `key`, one after the other, or asks. One task may wait at a time.

    `unblock` has the server answer the call that the connection of this number waits with; whether it did.

    It connects at the first parking, and again, with growing waits, when the link was lost. `close` it, or close the
    client that it came from.
    """

    def __init__(
        self,
        address: Address,
        options: ConnectionOptions,
        key: bytes,
        *,
        new_carrier: NewCarrier,
        dice: Dice,
        on_error: Callable[[Address, ErrorReply], bool],
        on_close: "Callable[[AioParking], None]",
        unblock: Unblock,
    ) -> None:
        self._key = key
        self._unblock = unblock
        self._asking: tuple[Link, asyncio.Future[Reply]] | None = None
        self._recalling: asyncio.Task[None] | None = None
        self._parks_only_on: Link | None = None
        self._patience_s = options.reply_timeout_ms / 1000
        self._on_close = on_close
        self._on_held: Callable[[], None] | None = None
        self._held: bytes | None = None
        self._error: EchoMQError | None = None
        self._asked: Link | None = None
        self._limit: asyncio.Timeout | None = None
        self._news = asyncio.Event()
        self._pid = os.getpid()
        self._is_closed = False
        self._node = Node(
            address, options, new_carrier=new_carrier, dice=dice, on_error=on_error, on_link_end=self._link_ended
        )

    @property
    def holds_token(self) -> bool:
        """Whether a token came while nobody was parked. The next `park` returns it at once, and so does `take_held`."""
        return self._held is not None

    def when_held(self, on_held: Callable[[], None]) -> None:
        """Have `on_held` called when a token comes while nobody is parked."""
        self._on_held = on_held

    def take_held(self) -> bytes | None:
        """Return the token that is held, if there is one, and hold it no longer."""
        token, self._held = self._held, None
        return token

    async def park(self, wait_ms: float) -> bytes | None:
        """Wait for a token and return its text; None when `wait_ms` are over, after `wake`, or when the link was lost.

        A lost link may have taken a token with it. While there is no link, one is waited for as long as `wait_ms`.
        Raises `ServerError` when the server refuses to wait (`WrongType`, `NoPermission`, …), what a refused greeting
        raises (`AuthRefused`, …), and `Closed`.
        """
        self._check_open()
        try:
            async with asyncio.timeout(wait_ms / 1000) as self._limit:
                await self._wait()
        except (TimeoutError, Disconnected):
            pass
        finally:
            self._limit = None
        error, self._error = self._error, None
        if error is not None:
            raise error
        self._check_open()
        return self.take_held()

    async def can_ask(self, transition: Transition, wait_ms: float) -> bool:
        """Wait for a link, `wait_ms` at most or until `wake`, and say whether calls of this transition can wait there.

        They can not while the server still has a `BLPOP` of an earlier wait. Raises what a refused greeting raises, and
        `Closed`.
        """
        self._check_open()
        link = self._node.link
        if link is None:
            try:
                async with asyncio.timeout(wait_ms / 1000) as self._limit:
                    link = await self._node.usable(None)
            except TimeoutError:
                return False
            finally:
                self._limit = None
        return self._asked is None and link is not self._parks_only_on and link.carries(transition)

    async def ask(self, call: Call[Answer], block_ms: int) -> Answer | None:
        """Send a call that the server may keep for `block_ms`, and return its answer, after `wake` at once.

        None: the server does not know, or not allow, calls of this transition; on this link `can_ask` says so from here
        on. Raises what `Call.decode` raises; with nothing sent `Disconnected` and `Closed`; `Unknown` when the link was
        lost, or had to be given up after `wake`; its kind `ReplyTimeout` when the server has been silent for `block_ms`
        and the patience.
        """
        self._check_open()
        link, loop = self._node.link, self._node.loop
        if link is None:
            raise Disconnected(f"{call.about} was not sent: there is no link")
        answer: asyncio.Future[Reply] = loop.create_future()
        deadline_s = loop.time() + (block_ms + _SERVER_LATE_MS) / 1000 + self._patience_s
        link.submit(OneCall(call, answer, deadline_s, is_raw=False))
        self._asking = (link, answer)
        try:
            reply = await answer
        finally:
            self._asking = None
            if self._recalling is not None:
                await asyncio.wait([self._recalling])
                self._recalling = None
        if isinstance(reply, ErrorReply) and not link.carries(call.transition):
            return None
        return call.decode(reply)

    def park_only(self) -> None:
        """Have `can_ask` say no as long as this link lasts."""
        self._parks_only_on = self._node.link

    def wake(self) -> None:
        """End the wait of whoever waits, now. Nothing happens when nobody does."""
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(0)
        if self._asking is not None and self._recalling is None:
            self._recalling = asyncio.ensure_future(recall(*self._asking, self._unblock))

    async def close(self) -> bytes | None:
        """Leave, within a second or so, and return the token that came last and was not taken, if one did. Repeatable.

        The server is told by the end of our half of the stream, and answers by ending its own: whatever it does after
        that, it gives this connection no token. One that it was about to send when it read our end may be lost, and so
        may one of a link that has to be cut since the server is silent: None is no proof that none came. In a forked
        child it does nothing.
        """
        is_first, self._is_closed = not self._is_closed, True
        if self._pid != os.getpid():
            return None
        if is_first:
            self._on_held = None
            self.wake()
            self._on_close(self)
            if self._recalling is not None:
                await asyncio.wait([self._recalling])
            if self._asked is not None:
                await say_goodbye(self._asked)
            await self._node.close()
        return self.take_held()

    def disown(self) -> list[Link]:
        """Let go of this process's copy of the socket, after a fork, and return the links, to be kept unused."""
        self._is_closed = True
        return self._node.disown()

    async def _wait(self) -> None:
        assert self._limit is not None
        until_s = self._limit.when()
        assert until_s is not None
        while self._held is None and self._error is None:
            link = await self._node.usable(None)
            self._news.clear()
            if self._asked is None:
                self._ask(link, until_s)
            await self._news.wait()
            if self._asked is None and self._node.link is not link:
                return  # the link was lost

    def _ask(self, link: Link, until_s: float) -> None:
        now_s = self._node.loop.time()
        wait_ms = max(0, math.ceil((until_s - now_s) * 1000)) + _SLACK_MS  # 0 would mean for ever
        call = command_call((b"BLPOP", self._key, b"%d.%03d" % divmod(wait_ms, 1000)))
        deadline_s = now_s + wait_ms / 1000 + self._patience_s
        link.ask(pack(call.args), deadline=deadline_s, then=partial(self._answered, call))
        self._asked = link

    def _answered(self, call: Call[Reply], reply: Reply) -> None:
        self._asked = None
        self._news.set()
        match reply:
            case None | ErrorReply(word="UNBLOCKED"):
                pass  # its time is over, or an operator or a failover ended it
            case [_, bytes(token)]:
                self._held = token
                if self._limit is None and self._on_held is not None:
                    self._on_held()
            case _:
                self._error = _error_of(call, reply)

    def _link_ended(self) -> None:
        self._asked = None
        self._news.set()

    def _check_open(self) -> None:
        if self._is_closed or self._pid != os.getpid():
            raise Closed("this parking link was closed, or belongs to the process that this one was forked from")


def _error_of(call: Call[Reply], reply: Reply) -> EchoMQError:
    try:
        call.decode(reply)
    except EchoMQError as error:
        return error
    return UnexpectedReply(call.about, reply)
