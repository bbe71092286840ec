"""Which node answers for a key, and what an answer says about that.

The drivers keep one link for each address that a route names and ask it again before each call, so a route that learns
(from MOVED, from a Sentinel, from CLUSTER SLOTS) changes where the next call goes and nothing else. `SingleNode` is the
route of one server.
"""

from typing import Protocol

from echomq.drivers.address import Address
from echomq.resp.reply import ErrorReply

__all__ = ["Route", "SingleNode"]


class Route(Protocol):
    """Knows the nodes of a deployment."""

    def node_for(self, key: bytes | None) -> Address:
        """Return the node that answers for a key (`keys.slot_of` tells its slot), or any node for None.

        It is asked before each call and must be quick. The same node must be the same object each time.
        """
        ...

    def refused(self, node: Address, reply: ErrorReply) -> bool:
        """Learn from an error reply. Return whether the link to that node should be given up and made anew."""
        ...


_NOT_HERE = frozenset({"READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN"})


class SingleNode:
    """The route of one server: it answers for every key.

    A server that says it is a replica, or not ready, may be another one at the next connect: its name may point
    elsewhere by then. MOVED and ASK name a node of a cluster, which this route cannot follow: the caller gets the
    error.
    """

    __slots__ = ("_address",)

    def __init__(self, address: Address) -> None:
        self._address = address

    def node_for(self, key: bytes | None) -> Address:
        """Return the one server."""
        return self._address

    def refused(self, node: Address, reply: ErrorReply) -> bool:
        """Ask for a new link when the server cannot serve."""
        return reply.word in _NOT_HERE
