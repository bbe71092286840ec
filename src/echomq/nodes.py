"""Holding a node number: when to lease, renew and return it, as decisions without I/O.

A process leases its node number from the server at its first mint (weakness W1 of the protocol: two processes that
share a number mint the same ids). The lease says: ids of this number, for instants up to the *mark*, are yours alone.
The next holder starts above the last one's mark. Nothing depends on a clock being right: a host that is
five minutes ahead has a mark that is five minutes ahead.

The lease is renewed by whoever mints, when half of it has passed, so an idle process holds no number for longer than
one lease, and no background task exists. A process that forks loses its number to the parent.
"""

import os
import secrets
from typing import Final, assert_never

from echomq.clock import SYSTEM_CLOCK, Clock
from echomq.errors import NodesExhausted
from echomq.ids import JobId, Minter
from echomq.records import NodeLeased, NodeNotHeld, NodeReturned, NodesTaken
from echomq.transitions.call import Call
from echomq.transitions.lease_node import lease_node
from echomq.transitions.return_node import return_node

__all__ = ["NODE_LEASE_MS", "NodeHolder"]

NODE_LEASE_MS: Final = 60_000
"""How long a node number is leased, in ms. A process that was killed keeps its number from others for this long."""


class NodeHolder:
    """Mints ids with a node number that is leased from the server, or given by hand.

    With `node` the number is the caller's responsibility and no lease is ever due; a forked child then cannot mint,
    since it would mint its parent's ids again. Otherwise the owner asks `call_due` before minting; when that is a call,
    it runs it and hands the answer to `accept`.
    """

    __slots__ = ("_clock", "_fixed", "_lease_ms", "_minter", "_node", "_owner", "_pid", "_renew_at_ms")

    def __init__(self, *, node: int | None = None, lease_ms: int = NODE_LEASE_MS, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._fixed = node is not None
        self._lease_ms = lease_ms
        self._minter = Minter(node, clock=clock) if node is not None else Minter.unleased(clock=clock)
        self._node: int | None = node
        self._owner = _new_owner()
        self._pid = os.getpid()
        self._renew_at_ms = 0

    @property
    def node(self) -> int | None:
        """The number held now, or None."""
        return self._node

    def mint(self) -> JobId:
        """Return a new id. Raises `NodeLeaseLapsed` when no number is held: `call_due` then has a call."""
        return self._minter.mint()

    def call_due(self) -> "Call[NodeLeased | NodesTaken] | None":
        """Return the call that leases or renews the number, or None when nothing is due.

        It is due before the first mint, after a fork, once half of the lease has passed, and as soon as the clock or
        the ids have run past what is left of it.
        """
        if self._fixed:
            return None
        now_ms = self._clock.unix_ms()
        if os.getpid() != self._pid:
            self._forget_after_fork()
        reached_ms = self._minter.ahead_ms(now_ms)
        if self._node is not None and reached_ms < self._renew_at_ms:
            return None
        return lease_node(self._owner, node=self._node, mark_ms=reached_ms + self._lease_ms, lease_ms=self._lease_ms)

    def accept(self, answer: NodeLeased | NodesTaken) -> None:
        """Take the answer to `call_due`. Raises `NodesExhausted` when every number is leased."""
        match answer:
            case NodeLeased(node, after_ms, mark_ms):
                if node == self._node:
                    self._minter.extend(mark_ms=mark_ms)
                else:
                    self._minter.assign(node, after_ms=after_ms, mark_ms=mark_ms)
                    self._node = node
                self._renew_at_ms = mark_ms - self._lease_ms // 2
            case NodesTaken(retry_after_ms):
                raise NodesExhausted(retry_after_ms)
            case _:
                assert_never(answer)

    def call_to_return(self) -> "Call[NodeReturned | NodeNotHeld] | None":
        """Give up the number and return the call that frees it for others, or None when there is none to free.

        The number lapses by itself when the call is never run.
        """
        if self._fixed or self._node is None or os.getpid() != self._pid:
            return None
        node, self._node = self._node, None
        return return_node(self._owner, node, last_ms=self._minter.withdraw())

    def _forget_after_fork(self) -> None:
        self._pid = os.getpid()
        self._owner = _new_owner()
        self._node = None


def _new_owner() -> bytes:
    return secrets.token_hex(16).encode()
