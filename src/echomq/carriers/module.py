"""Carries a call by the module's command EMQ.<NAME>, and by its script where there is none.

HELLO tells which modules a server has, so nothing is asked: a connection that was greeted as RESP3 by a server with the
module sends commands, any other one scripts. A command takes all keys of its transition, since nothing in it tells keys
from arguments; a call that leaves some out is the script's.

The module may be unloaded, be older than this client, or not be allowed to the user. The server then says that it does
not know the command, or that the user may not run it, and has run nothing: that call is repeated as EVAL, which carries
what it needs, and the transition goes by its script from there on. As with a script that was flushed, the repeated call
is sent after those that already stand in the pipeline.

No script can wait, so a call that waits has the command or nothing: where it is refused, also by a module that is older
than its waiting, the error stands, and `carries` says so from there on.
"""

import re
from typing import Final

from echomq.carriers.carrier import AnyCall
from echomq.carriers.lua import LuaCarrier
from echomq.resp.greeting import Greeted
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Transition

__all__ = ["COMMANDS", "ModuleCarrier"]

COMMANDS: Final = frozenset(
    {
        "claim",
        "claim_many",
        "complete",
        "complete_many",
        "enqueue",
        "enqueue_many",
        "extend",
        "extend_many",
        "gbclaim",
        "gclaim",
        "genqueue",
        "gwclaim",
        "promote",
        "reap",
        "release",
        "retry",
        "take",
        "wake",
    }
)
"""The transitions that the module has commands for: its table in module/emq.c, and a test compares them."""

_NOT_HERE: Final = re.compile(r"^(ERR unknown command|NOPERM .* permissions? to run).*\bemq\.", re.IGNORECASE)

_OLDER: Final = re.compile(r"^ERR \w+ takes the keys ")

_PART: Final = b"$%d\r\n%b\r\n"
_TEMPLATES_MAX: Final = 256


class ModuleCarrier:
    """Carries calls on one connection by commands of the module, as far as the server has them."""

    __slots__ = ("_lua", "_served", "_templates", "_waits")

    def __init__(self) -> None:
        self._lua = LuaCarrier()
        self._served: frozenset[str] = frozenset()
        self._waits = True
        self._templates: dict[tuple[str, int], bytes] = {}

    def greeted(self, found: Greeted) -> None:
        """Use the commands if the server has the module."""
        self._served = COMMANDS if found.module is not None else frozenset()

    def carries(self, transition: Transition) -> bool:
        """Say whether it can carry calls of a transition: one that waits, as long as the server did not refuse it."""
        return not transition.waits or (self._waits and transition.name in self._served)

    def prepare(self, transition: Transition) -> bytes | None:
        """Return SCRIPT LOAD for a transition that goes by its script and was not loaded on this connection."""
        return None if transition.name in self._served else self._lua.prepare(transition)

    def prepared(self, transition: Transition, reply: Reply) -> None:
        """Check the digest of a script."""
        self._lua.prepared(transition, reply)

    def carry(self, call: AnyCall) -> bytes:
        """Return EMQ.<NAME> with the call's keys and arguments, or EVALSHA."""
        transition, keys, args = call.transition, call.keys, call.args
        if transition.name not in self._served or len(keys) != len(transition.keys):
            return self._lua.carry(call)
        template = self._templates.get((transition.name, len(args))) or self._made(transition, len(args))
        parts: list[int | bytes] = []
        for key in keys:
            parts += (len(key), key)
        for arg in args:
            text = arg if isinstance(arg, bytes) else b"%d" % arg
            parts += (len(text), text)
        return template % tuple(parts)

    def again(self, call: AnyCall, reply: ErrorReply) -> bytes | None:
        """Return EVAL with the whole text when the server has not the command, or has forgotten the script."""
        transition = call.transition
        if transition.waits:
            if _NOT_HERE.match(reply.text) or _OLDER.match(reply.text):
                self._waits = False
            return None
        if transition.name in COMMANDS and _NOT_HERE.match(reply.text):
            self._served -= {transition.name}
            return self._lua.whole(call)
        return self._lua.again(call, reply)

    def explain(self, call: AnyCall, reply: ErrorReply) -> ErrorReply:
        """Name the file and line of the body where the server names a line of the script."""
        return self._lua.explain(call, reply)

    def _made(self, transition: Transition, args: int) -> bytes:
        name = f"EMQ.{transition.name.upper()}".encode()
        parts = len(transition.keys) + args
        template = b"*%d\r\n$%d\r\n%b\r\n" % (1 + parts, len(name), name) + _PART * parts
        if len(self._templates) < _TEMPLATES_MAX:
            self._templates[transition.name, args] = template
        return template
