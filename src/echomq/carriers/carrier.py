"""The question a driver asks about a call: how do I carry it on this connection.

One carrier belongs to one connection, since what a server knows (which scripts, which commands) is found out anew on
each. `carriers.lua` carries by EVALSHA; `carriers.module` by EMQ.* commands, and hands what the server lacks on to the
Lua one.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from echomq.resp.greeting import Greeted
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition

__all__ = ["AnyCall", "Carrier", "NewCarrier"]

AnyCall: TypeAlias = Call[object]


class Carrier(Protocol):
    """How calls travel on one connection."""

    def greeted(self, found: Greeted) -> None:
        """Take what the greeting found. It comes once, before everything else."""
        ...

    def carries(self, transition: Transition) -> bool:
        """Say whether it can carry calls of a transition: each that does not wait, and that where a command does."""
        ...

    def prepare(self, transition: Transition) -> bytes | None:
        """Return a command to send before the first call of a transition, or None when there is nothing to do.

        It is asked before each call, so None must be quick. The command has a reply of its own, for `prepared`.
        """
        ...

    def prepared(self, transition: Transition, reply: Reply) -> None:
        """Take the reply of `prepare`. Raises `ProtocolError` when the peer cannot be trusted with the call."""
        ...

    def carry(self, call: AnyCall) -> bytes:
        """Return the command of a call, packed."""
        ...

    def again(self, call: AnyCall, reply: ErrorReply) -> bytes | None:
        """Return what to send once more because of this reply, or None when the reply stands."""
        ...

    def explain(self, call: AnyCall, reply: ErrorReply) -> ErrorReply:
        """Return the reply with all that is known about its cause, for the person who reads the exception."""
        ...


NewCarrier: TypeAlias = Callable[[], Carrier]
