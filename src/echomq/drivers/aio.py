"""The asyncio driver: awaits Calls.

    async with await AioClient.connect(ConnectionOptions(url="unix:///run/valkey.sock")) as client:
        answer = await client.run(enqueue(keys, job, b"payload"))

One client serves any number of tasks of one event loop over one connection for each node. In a forked child a client
that its parent used makes connections of its own.
"""

import asyncio
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

from echomq.carriers.carrier import AnyCall, NewCarrier
from echomq.carriers.module import ModuleCarrier
from echomq.clock import SYSTEM_DICE, Dice
from echomq.drivers._aio_link import Link
from echomq.drivers._aio_node import Node
from echomq.drivers._aio_pending import Batch, NotSent, OneCall
from echomq.drivers._raw import Part, answer_or_error, command_call
from echomq.drivers.address import Address, parse_address
from echomq.drivers.aio_parking import AioParking
from echomq.drivers.aio_subscription import AioSubscription
from echomq.drivers.route import Route, SingleNode
from echomq.errors import Closed, EchoMQError
from echomq.options import LOCAL_URL, ConnectionOptions
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call

__all__ = ["AioClient"]

Answer = TypeVar("Answer")


class AioClient:
    """Runs Calls for the tasks of one event loop.

    Every method that sends something may raise, with nothing sent: `Overloaded`, `Closed`, `Disconnected` (no link
    within the reply time-out) or the final refusal of the greeting (`AuthRefused`, `BootRefused`, `UnexpectedHello`,
    `VersionFence`). It may raise `Unknown` or its kind `ReplyTimeout` when the link was lost after the call was sent;
    `repeatable` there says whether the same call may be sent again. A cancelled task leaves its call in the pipeline:
    whether it ran is then unknown to the task, and nobody else is disturbed.
    """

    def __init__(
        self,
        options: ConnectionOptions,
        *,
        new_carrier: NewCarrier = ModuleCarrier,
        route: Route | None = None,
        dice: Dice = SYSTEM_DICE,
    ) -> None:
        """Connect at the first use. Raises `InvalidOption` for an address that cannot be."""
        self._options = options
        self._new_carrier = new_carrier
        self._route = SingleNode(parse_address(options.url or LOCAL_URL)) if route is None else route
        self._dice = dice
        self._reply_timeout = options.reply_timeout_ms / 1000
        self._nodes: dict[Address, Node] = {}
        self._recent: tuple[Address, Node] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()
        self._inherited: list[Link] = []
        self._subscriptions: set[AioSubscription] = set()
        self._parkings: set[AioParking] = set()
        self._is_closed = False

    @classmethod
    async def connect(cls, options: ConnectionOptions, *, new_carrier: NewCarrier = ModuleCarrier) -> Self:
        """Return a client whose link stands. Raises at once what prevents it, instead of trying again."""
        client = cls(options, new_carrier=new_carrier)
        try:
            await client._node_for(None).connect()
        except BaseException:
            await client.close()
            raise
        return client

    async def run(self, call: Call[Answer], *, reply_timeout_ms: int | None = None) -> Answer:
        """Send one Call and return its answer. Calls of many tasks share one write and one round trip.

        `reply_timeout_ms` replaces the option of that name, for a call that blocks on the server. Raises what the
        Call's `decode` raises, and see the class.
        """
        # The ordinary way stands here, not in `_reply_to`: one coroutine less for each call is a twentieth of its cost.
        node = self._node_for(call.keys[0] if call.keys else None)
        link, loop = node.link, node.loop
        deadline = loop.time() + (self._reply_timeout if reply_timeout_ms is None else reply_timeout_ms / 1000)
        if link is not None:
            pending = OneCall(call, loop.create_future(), deadline, is_raw=False)
            link.submit(pending)
            try:
                return call.decode(await pending.future)
            except NotSent:
                if loop.time() >= deadline:
                    raise
        return call.decode(await self._reply_to(call, node, deadline, is_raw=False))

    async def run_all(self, calls: Sequence[Call[Answer]]) -> list[Answer | EchoMQError]:
        """Send all calls in one write and return their answers in order, an exception in the place of a failed one.

        Each call is atomic on its own; the batch is not, and promises no order among its calls. More calls than
        `in_flight_max` go in several writes. Raises as the class says only when nothing at all was sent.
        """
        answers: list[Answer | EchoMQError] = []
        step = self._options.in_flight_max
        for start in range(0, len(calls), step):
            part = calls[start : start + step]
            try:
                replies = await self._replies_to(part)
            except EchoMQError as error:
                if not answers:
                    raise
                replies = [error] * len(part)
            answers += [answer_or_error(call, reply) for call, reply in zip(part, replies, strict=True)]
        return answers

    async def command(self, *parts: Part, reply_timeout_ms: int | None = None) -> Reply:
        """Send one plain command and return its reply. An error reply is raised as a `ServerError` of its word.

        A command that blocks on the server holds up every call behind it: `parking` waits for tokens of a list.
        """
        call, node = command_call(parts), self._node_for(None)
        deadline = node.loop.time() + (self._reply_timeout if reply_timeout_ms is None else reply_timeout_ms / 1000)
        return call.decode(await self._reply_to(call, node, deadline, is_raw=True))

    def subscribe(self, *channels: bytes | str) -> AioSubscription:
        """Return the messages of channels, over a connection of their own; see `AioSubscription`."""
        self._check_open()
        self._check_loop()
        subscription = AioSubscription(
            self._route.node_for(None),
            self._options,
            [channel if isinstance(channel, bytes) else channel.encode() for channel in channels],
            new_carrier=self._new_carrier,
            dice=self._dice,
            on_close=self._subscriptions.discard,
        )
        self._subscriptions.add(subscription)
        return subscription

    def parking(self, key: bytes) -> AioParking:
        """Return what waits for tokens of a list, over a connection of its own; see `AioParking`."""
        self._check_open()
        self._check_loop()
        parking = AioParking(
            self._route.node_for(key),
            self._options,
            key,
            new_carrier=self._new_carrier,
            dice=self._dice,
            on_error=self._learn,
            on_close=self._parkings.discard,
            unblock=self._unblock,
        )
        self._parkings.add(parking)
        return parking

    async def close(self) -> None:
        """Take no more calls, wait for those in flight within their reply time-out, and close. May be repeated."""
        self._is_closed = True
        if self._pid != os.getpid():
            return
        for subscription in list(self._subscriptions):
            await subscription.close()
        for parking in list(self._parkings):
            await parking.close()
        for node in list(self._nodes.values()):
            await node.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _reply_to(self, call: AnyCall, node: Node, deadline: float, *, is_raw: bool) -> Reply:
        loop = node.loop
        while True:
            link = node.link
            if link is None:
                link = await node.usable(deadline)
            pending = OneCall(call, loop.create_future(), deadline, is_raw=is_raw)
            link.submit(pending)
            try:
                return await pending.future
            except NotSent:
                if loop.time() >= deadline:
                    raise

    async def _replies_to(self, calls: Sequence[Call[Answer]]) -> list[Reply | EchoMQError]:
        first = calls[0].keys
        node = self._node_for(first[0] if first else None)
        deadline = node.loop.time() + self._reply_timeout
        while True:
            batch = Batch(len(calls), node.loop.create_future())
            link = node.link or await node.usable(deadline)
            link.submit_all(batch.of(calls, deadline))
            await batch.future
            if node.loop.time() >= deadline or not all(isinstance(result, NotSent) for result in batch.results):
                return batch.results

    def _node_for(self, key: bytes | None) -> Node:
        """Return the node that answers for a key, made at its first use."""
        if self._is_closed:
            self._check_open()
        if asyncio.get_running_loop() is not self._loop:
            self._check_loop()
        address = self._route.node_for(key)
        if self._recent is not None and self._recent[0] is address:
            return self._recent[1]
        node = self._nodes.get(address)
        if node is None:
            node = self._nodes[address] = Node(
                address, self._options, new_carrier=self._new_carrier, dice=self._dice, on_error=self._learn
            )
        self._recent = (address, node)
        return node

    async def _unblock(self, connection: int) -> bool:
        return await self.command("CLIENT", "UNBLOCK", connection) == 1

    def _learn(self, address: Address, reply: ErrorReply) -> bool:
        return reply.word in _ABOUT_NODES and self._route.refused(address, reply)

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed("this client was closed: open a new one")

    def _check_loop(self) -> None:
        """Bind the client to its loop; in a forked child begin anew; refuse a second loop of one process."""
        loop = asyncio.get_running_loop()
        if self._pid != os.getpid():
            self._begin_anew_after_fork()
        elif self._loop is not None and self._loop is not loop:
            raise Closed("this client belongs to another event loop: open one client for each loop")
        self._loop = loop

    def _begin_anew_after_fork(self) -> None:
        """Leave the parent's connections alone.

        Their transports are registered with the parent's poller, so closing them here would deafen the parent: they
        are kept, unused, and only this process's copy of each socket is let go.
        """
        for node in self._nodes.values():
            self._inherited += node.disown()
        for parking in self._parkings:
            self._inherited += parking.disown()
        self._nodes = {}
        self._recent = None
        self._subscriptions = set()
        self._parkings = set()
        self._pid = os.getpid()


_ABOUT_NODES: Final = frozenset({"READONLY", "LOADING", "MOVED", "ASK", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN"})
