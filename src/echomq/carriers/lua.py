"""Carries a call by its Lua body: EVALSHA, and the text itself when the server has forgotten it.

Before the first use of a transition on a connection the text is loaded (SCRIPT LOAD, in the same write as the call),
so the ordinary first call needs no second round trip and the script is one that the server keeps.

A server that answers NOSCRIPT has run nothing. That call, and only that one, is repeated as EVAL with the text. Another
SCRIPT LOAD with EVALSHA could be overtaken by the next SCRIPT FLUSH, again and again; EVAL carries what it needs, so
one repetition is enough however often somebody flushes. A server may drop scripts that came by EVAL when it has many,
so the next call of the transition loads it again.

The repeated call is sent after those that already stand in the pipeline: with a flush in the middle of a batch, calls
of the batch may run in another order than they were given. Atomicity is per call, and no batch promises an order.
"""

from echomq.carriers.carrier import AnyCall
from echomq.errors import ProtocolError
from echomq.resp.connection import pack
from echomq.resp.greeting import Greeted
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of, locate
from echomq.transitions.call import Transition

__all__ = ["LuaCarrier"]

_PART = b"$%d\r\n%b\r\n"
_TEMPLATES_MAX = 64


class LuaCarrier:
    """Carries calls on one connection by EVALSHA. Knows which scripts were loaded there."""

    __slots__ = ("_loaded", "_templates")

    def __init__(self) -> None:
        # By the identity of the transition, which is a constant of its module: hashing it costs more than packing the
        # call. Each entry holds the transition too, so that no identity is ever given to another one.
        self._loaded: dict[int, Transition] = {}
        self._templates: dict[int, tuple[Transition, _Template]] = {}

    def greeted(self, found: Greeted) -> None:
        """Every server has scripts."""

    def carries(self, transition: Transition) -> bool:
        """No script can wait."""
        return not transition.waits

    def prepare(self, transition: Transition) -> bytes | None:
        """Return SCRIPT LOAD for a transition that was not loaded on this connection."""
        if id(transition) in self._loaded:
            return None
        self._loaded[id(transition)] = transition
        return pack((b"SCRIPT", b"LOAD", body_of(transition).text))

    def prepared(self, transition: Transition, reply: Reply) -> None:
        """Check the digest. A refused load is left to the call itself, which comes next and says more."""
        if isinstance(reply, ErrorReply):
            return
        if reply != body_of(transition).sha1:
            raise ProtocolError(
                f"the server gave the script of {transition.name} the digest {reply!r:.60}, which is not its SHA-1"
            )

    def carry(self, call: AnyCall) -> bytes:
        """Return EVALSHA with the call's keys and arguments."""
        transition = call.transition
        known = self._templates.get(id(transition))
        if known is None:
            known = self._templates[id(transition)] = (transition, _Template(transition))
        return known[1].fill(call)

    def again(self, call: AnyCall, reply: ErrorReply) -> bytes | None:
        """Return EVAL with the whole text when the server has forgotten the script."""
        if reply.word != "NOSCRIPT":
            return None
        self._loaded.pop(id(call.transition), None)
        return self.whole(call)

    def whole(self, call: AnyCall) -> bytes:
        """Return EVAL, which carries all that the call needs."""
        return pack((b"EVAL", body_of(call.transition).text, len(call.keys), *call.keys, *call.args))

    def explain(self, call: AnyCall, reply: ErrorReply) -> ErrorReply:
        """Name the file and line of the body where the server names a line of the whole script."""
        place = locate(call.transition, reply.text)
        return reply if place is None else ErrorReply(f"{reply.text} [at {place}]")


class _Template:
    """EVALSHA of one transition as bytes with holes, one for each key and argument.

    Filling it costs a third less than packing all parts, which shows at a hundred thousand calls a second. There is one
    for each number of keys and arguments, as far as the bound goes.
    """

    __slots__ = ("_by_width", "_sha1")

    def __init__(self, transition: Transition) -> None:
        self._sha1 = body_of(transition).sha1
        self._by_width: dict[tuple[int, int], bytes] = {}

    def fill(self, call: AnyCall) -> bytes:
        keys, args = call.keys, call.args
        template = self._by_width.get((len(keys), len(args))) or self._made(len(keys), len(args))
        parts: list[int | bytes] = []
        for key in keys:
            parts += (len(key), key)
        for arg in args:
            text = arg if isinstance(arg, bytes) else b"%d" % arg
            parts += (len(text), text)
        return template % tuple(parts)

    def _made(self, keys: int, args: int) -> bytes:
        template = _with_holes(self._sha1, keys, args)
        if len(self._by_width) < _TEMPLATES_MAX:
            self._by_width[keys, args] = template
        return template


def _with_holes(sha1: bytes, keys: int, args: int) -> bytes:
    count = b"%d" % keys
    head = b"*%d\r\n$7\r\nEVALSHA\r\n$40\r\n%b\r\n$%d\r\n%b\r\n" % (3 + keys + args, sha1, len(count), count)
    return head + _PART * (keys + args)
