"""What a body is given: the keys and arguments of a call by the names that its transition declares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

from echomq.model.keyspace import Keyspace
from echomq.model.names import Names
from echomq.resp.reply import Reply
from echomq.transitions.call import Arg, Transition

__all__ = ["Bodies", "Body", "Given"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Keys and arguments by name, as bytes: numbers are decimal text, as on the wire.

    An argument that was left out is empty, which means the same for every optional one (docs/wire.md). A key that was
    left out is missing. `more_keys` and `more_args` are what follows the named ones, the latter in groups of the
    declared width.
    """

    keys: Mapping[str, bytes]
    args: Mapping[str, bytes]
    more_keys: tuple[bytes, ...] = ()
    more_args: tuple[tuple[bytes, ...], ...] = ()

    @classmethod
    def of(cls, transition: Transition, keys: tuple[bytes, ...], args: tuple[Arg, ...]) -> Self:
        """Name what a call carries, which is as much as the transition takes."""
        texts = tuple(b"%d" % arg if isinstance(arg, int) else bytes(arg) for arg in args)
        named = dict.fromkeys(transition.args, b"") | dict(zip(transition.args, texts, strict=False))
        rest, width = texts[len(transition.args) :], len(transition.more_args)
        return cls(
            keys=dict(zip(transition.keys, keys, strict=False)),
            args=named,
            more_keys=keys[len(transition.keys) :],
            more_args=tuple(rest[at : at + width] for at in range(0, len(rest), width or 1)),
        )

    @property
    def names(self) -> Names:
        """The names of the queue: its base is a key or an argument, or can be read off the row's key (protocol 4)."""
        base = self.keys.get("base") or self.args.get("base")
        return Names(base) if base else Names.from_row(self.keys["job"])

    def number(self, name: str, default: int = 0) -> int:
        """Return an argument as a whole number, `default` when it is empty."""
        text = self.args[name]
        return int(text) if text else default

    def limit(self, name: str, *, default: int = 1000, most: int = 1000) -> int:
        """Return the bound of a loop: the argument when given, and never more than `most` (docs/wire.md, rule 6)."""
        return min(self.number(name, default), most)


Body: TypeAlias = Callable[[Keyspace, Given], Reply]
"""One transition in the model: it reads and writes the keyspace and returns the reply that a server would give."""

Bodies: TypeAlias = Mapping[str, Body]
