"""Holding a node number: when to lease, renew and return it, as decisions without I/O.

A process leases its node number from the server at its first mint (weakness W1 of the protocol: two processes that
share a number mint the same ids). The lease says: ids of this number, for instants up to the *mark*, are yours alone.
The next holder starts above the last one's mark. Nothing depends on a clock being right: a host that is
five minutes ahead has a mark that is five minutes ahead.

The lease is renewed by whoever mints, when half of it has passed, so an idle process holds no number for longer than
one lease, and no background task exists. A process that forks loses its number to the parent.

A server can lose its leases: FLUSHALL, a restart without its data, a failover to a replica that lags. Then a number may
be leased anew while its old holder still mints, so what says that a fresh id exists already is taken for what it is, a
collision: `collided` gives the number up (see `Jobs.enqueue`). New numbers are asked for at a random place, so that
whoever begins anew hardly ever meets a number in use.
"""

import os
import secrets
import threading
from typing import Final, assert_never

from echomq.clock import SYSTEM_CLOCK, Clock
from echomq.errors import ClockOutOfRange, NodesExhausted
from echomq.ids import LAST_MS, NODE_MAX, JobId, Minter
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
    it runs it and hands the answer to `accept`. Safe to use from several threads, and in forked children.
    """

    __slots__ = ("_clock", "_fixed", "_lease_ms", "_of_process")

    def __init__(self, *, node: int | None = None, lease_ms: int = NODE_LEASE_MS, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._fixed = node is not None
        self._lease_ms = lease_ms
        minter = Minter.unleased(clock=clock) if node is None else Minter(node, clock=clock)
        self._of_process = {os.getpid(): _Held(minter, node)}

    @property
    def node(self) -> int | None:
        """The number held now, or None."""
        return self._held.node

    def mint(self) -> JobId:
        """Return a new id.

        Raises `NodeLeaseLapsed` when no number is held, `call_due` then has a call; and `ClockOutOfRange`.
        """
        return self._held.minter.mint()

    def call_due(self) -> "Call[NodeLeased | NodesTaken] | None":
        """Return the call that leases or renews the number, or None when nothing is due.

        It is due before the first mint, after a fork, once half of the lease has passed, and as soon as the clock or
        the ids have run past what is left of it. Raises `ClockOutOfRange`.
        """
        if self._fixed:
            return None
        held, now_ms = self._held, self._clock.unix_ms()
        if now_ms > LAST_MS:
            raise ClockOutOfRange(now_ms)
        reached_ms = held.minter.ahead_ms(now_ms)
        if held.node is not None and reached_ms < held.renew_at_ms:
            return None
        return lease_node(
            held.owner,
            node=held.node,
            mark_ms=min(reached_ms + self._lease_ms, LAST_MS),
            lease_ms=self._lease_ms,
            wish=held.wish,
        )

    def accept(self, answer: NodeLeased | NodesTaken) -> None:
        """Take the answer to `call_due`. Raises `NodesExhausted` when every number is leased."""
        match answer:
            case NodeLeased(node, after_ms, mark_ms):
                self._held.take(node, after_ms=after_ms, mark_ms=mark_ms, renew_at_ms=mark_ms - self._lease_ms // 2)
            case NodesTaken(retry_after_ms):
                raise NodesExhausted(retry_after_ms)
            case _:
                assert_never(answer)

    def collided(self, job: JobId) -> None:
        """Give up the number an id was minted with: somebody else mints with it, after the server lost its leases.

        The next `call_due` leases another. Does nothing when that number is no longer held.
        """
        if not self._fixed:
            self._held.drop(job.node)

    def call_to_return(self) -> "Call[NodeReturned | NodeNotHeld] | None":
        """Give up the number and return the call that frees it for others, or None when there is none to free.

        The number lapses by itself when the call is never run.
        """
        if self._fixed:
            return None
        held = self._held
        given_up = held.drop(held.node)
        return None if given_up is None else return_node(held.owner, given_up[0], last_ms=given_up[1])

    @property
    def _held(self) -> "_Held":
        """What this process holds. A forked child begins with nothing, under an owner's name of its own.

        The child's part is made by `setdefault`, which is one step however many threads get here first, and never by a
        lock: the parent's other threads may have held that at the fork.
        """
        pid = os.getpid()
        held = self._of_process.get(pid)
        if held is None:
            held = self._of_process.setdefault(pid, _Held(Minter.unleased(clock=self._clock), None))
            for other in [other for other in self._of_process if other != pid]:
                self._of_process.pop(other, None)  # a grandchild may be given the number of a process that has ended
        return held


class _Held:
    """The number of one process, its minter, and the name that it is leased under."""

    __slots__ = ("_lock", "minter", "node", "owner", "renew_at_ms", "wish")

    def __init__(self, minter: Minter, node: int | None) -> None:
        self.minter = minter
        self.node = node
        self.owner = secrets.token_hex(16).encode()
        self.wish = secrets.randbelow(NODE_MAX + 1)
        self.renew_at_ms = 0
        self._lock = threading.Lock()

    def take(self, node: int, *, after_ms: int, mark_ms: int, renew_at_ms: int) -> None:
        with self._lock:
            if node == self.node:
                self.minter.extend(mark_ms=mark_ms)
            else:
                self.minter.assign(node, after_ms=after_ms, mark_ms=mark_ms)
                self.node = node
            self.renew_at_ms = renew_at_ms

    def drop(self, node: int | None) -> tuple[int, int] | None:
        """Give up the number if it is this one; return it with the last instant that was minted for."""
        with self._lock:
            if node is None or node != self.node:
                return None
            self.node = None
            return node, self.minter.withdraw()
