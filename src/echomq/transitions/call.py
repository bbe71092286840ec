"""A transition and a call of it, as plain values.

A `Transition` declares the names of its keys and arguments once: the Lua lines that bind them are generated from it
(`_bodies`), and the model reads them by the same names. A `Call` is one use of a transition: keys, arguments and the
function that turns the reply into an answer. Neither does I/O: the drivers carry a Call, the model interprets it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from echomq.errors import (
    EchoMQError,
    KindRefused,
    Loading,
    NoPermission,
    ReadOnly,
    ServerError,
    ServerFull,
    UnexpectedReply,
    WrongType,
)
from echomq.resp.reply import ErrorReply, Reply

__all__ = ["Arg", "Call", "Transition", "refused"]

Answer_co = TypeVar("Answer_co", covariant=True)

# What may stand among the arguments of a command. Whole numbers travel as decimal text.
Arg = bytes | int

_BY_WORD: dict[str, type[ServerError]] = {
    "EMQKIND": KindRefused,
    "WRONGTYPE": WrongType,
    "OOM": ServerFull,
    "READONLY": ReadOnly,
    "LOADING": Loading,
    "NOPERM": NoPermission,
}

# Servers from 7 on say the one, earlier ones the other.
_FORBIDDEN_INSIDE: Final = re.compile(r"^ERR (ACL failure in script|The user executing the script can't)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One atomic step on the server: its name and the names of what it is given.

    `name` is the name of the handle's file and of the Lua body beside it. `keys` and `args` are bound in the body as
    `<name>_key` and `<name>`. When `more_keys` or `more_args` is given, any number of further keys, or further groups
    of arguments, follow; the body finds them from `more_keys_at` / `more_args_at` on. The last `optional` of `args` and
    `optional_keys` of `keys` may be left out; any other number is refused (`arity`).

    `repeatable` says whether sending the same call twice leaves the same state and the same meaning as sending it once.
    `section` is the place in the protocol, or "ours". `waits` says that the server may keep the call for a while before
    it answers: only a command can do that, no script, and it needs a connection of its own.
    """

    name: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    more_keys: str | None = None
    more_args: tuple[str, ...] = ()
    optional: int = 0
    optional_keys: int = 0
    repeatable: bool
    section: str
    waits: bool = False

    @property
    def arity(self) -> str:
        """Which keys and arguments it takes, as words for the refusal of any other number."""
        keys = _listed(self.keys, self.optional_keys, (self.more_keys,) if self.more_keys else ())
        args = _listed(self.args, self.optional, self.more_args)
        return f"{self.name} takes the keys {keys} and the arguments {args}"

    def takes(self, keys: int, args: int) -> bool:
        """Whether it can be given so many keys and arguments: groups of further arguments are whole."""
        further = args - len(self.args)
        if further > 0 and self.more_args:
            args_fit = further % len(self.more_args) == 0
        else:
            args_fit = -self.optional <= further <= 0
        further_keys = keys - len(self.keys)
        return args_fit and -self.optional_keys <= further_keys and (further_keys <= 0 or self.more_keys is not None)


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer_co]):
    """One use of a transition. `decode` turns the server's reply into an answer, or raises an `EchoMQError`.

    `subject` is the job or queue it is for, as text for messages.
    """

    transition: Transition
    keys: Sequence[bytes]
    args: Sequence[Arg]
    decode: Callable[[Reply], Answer_co]
    subject: object

    @property
    def about(self) -> str:
        """The transition and what it is for, as words for a message: ``claim of mail``."""
        return f"{self.transition.name} of {self.subject}"


def _listed(names: Sequence[str], optional: int, repeated: Sequence[str]) -> str:
    """Return names as docs/wire.md writes them: optional ones in brackets, repeated ones in braces."""
    required = len(names) - optional
    words = [*names[:required], *[f"[{name}]" for name in names[required:]]]
    if repeated:
        words.append(f"{{{' '.join(repeated)}}}")
    return " ".join(words) or "none"


def refused(transition: Transition, subject: object, reply: Reply) -> EchoMQError:
    """Return the exception for a reply that is no answer: an error reply, or one the transition cannot have.

    The error is mapped by its first word only (protocol 4.0); what a user may not do inside a script has none.
    """
    about = f"{transition.name} of {subject}"
    if isinstance(reply, ErrorReply):
        kind = NoPermission if _FORBIDDEN_INSIDE.search(reply.text) else _BY_WORD.get(reply.word, ServerError)
        return kind(reply.text, about=about)
    return UnexpectedReply(about, reply)
