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
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, assert_never

from echomq.clock import SYSTEM_CLOCK, Clock
from echomq.errors import ClockOutOfRange, EchoMQError, NodesExhausted
from echomq.ids import LAST_MS, NODE_MAX, JobId, Minter
from echomq.records import NodeLeased, NodeNotHeld, NodeReturned, NodesTaken
from echomq.transitions.call import Call
from echomq.transitions.lease_node import lease_node
from echomq.transitions.return_node import return_node

__all__ = ["LEASE_PATIENCE_MS", "NODE_LEASE_MS", "Lease", "NodeHolder"]

NODE_LEASE_MS: Final = 60_000
"""How long a node number is leased, in ms. A process that was killed keeps its number from others for this long."""

LEASE_PATIENCE_MS: Final = 15_000
"""How long others wait for whoever leases the number before they try themselves, in ms."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to ask for the number, for one caller at a time: run `call` and hand the answer to `accept`.

    Whoever cannot says `failed`. The others wait for `done` meanwhile, so that a thousand first mints at once lease one
    number and not a thousand.
    """

    call: "Call[NodeLeased | NodesTaken]"
    done: "Future[None]"
    generation: int


class NodeHolder:
    """Mints ids with a node number that is leased from the server, or given by hand.

    With `node` the number is the caller's responsibility and no lease is ever due; a forked child then cannot mint,
    since it would mint its parent's ids again. Otherwise the owner asks `due` before minting, and does what it says.
    Safe to use from several threads and event loops, and in forked children.
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

        Raises `NodeLeaseLapsed` when no number is held, `due` then says what to do; and `ClockOutOfRange`.
        """
        return self._held.minter.mint()

    def due(self) -> "Lease | Future[None] | None":
        """Say what is to be done before minting: a `Lease` to take out, somebody else's to wait for, or nothing.

        A lease is due before the first mint, after a fork, once half of it has passed, and as soon as the clock or the
        ids have run past what is left of it. While somebody renews, the others go on minting up to the mark. The future
        raises what prevented the lease. Raises `ClockOutOfRange`.
        """
        if self._fixed:
            return None
        held, now_ms = self._held, self._clock.unix_ms()
        if now_ms > LAST_MS:
            raise ClockOutOfRange(now_ms)
        reached_ms = held.minter.ahead_ms(now_ms)
        if held.node is not None and reached_ms < held.renew_at_ms:
            return None
        return held.ask(reached_ms, lease_ms=self._lease_ms, monotonic_ms=self._clock.monotonic_ms())

    def accept(self, lease: Lease, answer: NodeLeased | NodesTaken) -> None:
        """Take the answer to a lease's call. Raises `NodesExhausted` when every number is leased.

        An answer that comes after the number was given up (`collided`, `call_to_return`) is not taken.
        """
        match answer:
            case NodeLeased(node, after_ms, mark_ms):
                self._held.take(
                    lease, node, after_ms=after_ms, mark_ms=mark_ms, renew_at_ms=mark_ms - self._lease_ms // 2
                )
            case NodesTaken(retry_after_ms):
                error = NodesExhausted(retry_after_ms)
                self.failed(lease, error)
                raise error
            case _:
                assert_never(answer)

    def failed(self, lease: Lease, error: BaseException) -> None:
        """Say that a lease's call brought no answer: those who wait get the error, or try themselves."""
        self._held.end(lease, error if isinstance(error, EchoMQError) else None)

    def collided(self, job: JobId) -> None:
        """Give up the number an id was minted with: somebody else mints with it, after the server lost its leases.

        The next lease is one of another number. Does nothing when that number is no longer held.
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

    __slots__ = (
        "_asked_at_ms",
        "_generation",
        "_in_flight",
        "_lock",
        "_mark_ms",
        "_wish",
        "minter",
        "node",
        "owner",
        "renew_at_ms",
    )

    def __init__(self, minter: Minter, node: int | None) -> None:
        self.minter = minter
        self.node = node
        self.owner = secrets.token_hex(16).encode()
        self.renew_at_ms = 0
        self._wish = secrets.randbelow(NODE_MAX + 1)
        self._mark_ms = 0
        self._generation = 0
        self._in_flight: Future[None] | None = None
        self._asked_at_ms = 0
        self._lock = threading.Lock()

    def ask(self, reached_ms: int, *, lease_ms: int, monotonic_ms: int) -> "Lease | Future[None] | None":
        """Give the right to lease to the first who asks. The others mint on with what is held, or wait.

        Whoever has the right and does nothing for too long, since its event loop ended, loses it to the next.
        """
        with self._lock:
            if self.node is not None and reached_ms < self.renew_at_ms:
                return None
            if self._in_flight is not None and monotonic_ms < self._asked_at_ms + LEASE_PATIENCE_MS:
                return None if self.node is not None and reached_ms < self._mark_ms else self._in_flight
            done: Future[None] = Future()
            self._in_flight, self._asked_at_ms = done, monotonic_ms
            done.set_running_or_notify_cancel()  # whoever waits may be cancelled, and must not cancel it for the others
            call = lease_node(
                self.owner,
                node=self.node,
                mark_ms=min(reached_ms + lease_ms, LAST_MS),
                lease_ms=lease_ms,
                wish=self._wish,
            )
            return Lease(call, done, self._generation)

    def take(self, lease: Lease, node: int, *, after_ms: int, mark_ms: int, renew_at_ms: int) -> None:
        with self._lock:
            if lease.generation == self._generation:
                if node == self.node:
                    self.minter.extend(mark_ms=mark_ms)
                else:
                    self.minter.assign(node, after_ms=after_ms, mark_ms=mark_ms)
                    self.node = node
                self.renew_at_ms, self._mark_ms = renew_at_ms, mark_ms
        self.end(lease, None)

    def end(self, lease: Lease, error: EchoMQError | None) -> None:
        """Let those who wait go on, once."""
        with self._lock:
            if self._in_flight is not lease.done:
                return
            self._in_flight = None
        if error is None:
            lease.done.set_result(None)
        else:
            lease.done.set_exception(error)

    def drop(self, node: int | None) -> tuple[int, int] | None:
        """Give up the number if it is this one; return it with the last instant that was minted for."""
        with self._lock:
            if node is None or node != self.node:
                return None
            self.node = None
            self._generation += 1
            return node, self.minter.withdraw()
