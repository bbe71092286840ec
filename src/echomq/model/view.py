"""A view of one key, and numbers as the text that they are stored as.

A view is taken with `Keyspace.zset`, `.hash` and so on, which is where a key's kind is judged: taking every view a body
is going to write, before the first write, is "look, then write" (docs/wire.md, rule 1). Reading a missing key gives
nothing; the first write creates it; a collection that becomes empty is deleted, as on a server.
"""

import re
from typing import Final

from echomq.model.store import Damage, Store

__all__ = ["NotANumber", "View", "counted", "number"]


class NotANumber(Damage):
    """A text was to be counted up and is no whole number. A server says the same and changes nothing."""

    def __init__(self, what: bytes) -> None:
        super().__init__(b"ERR %b is not a whole number" % what)


def counted(text: bytes) -> int | None:
    """Return the whole number that a counter's text stands for, None for what a server could not count up."""
    return int(text) if len(text) <= _LENGTH_MAX and _DECIMAL.fullmatch(text) else None


def number(text: bytes, what: bytes) -> int:
    """Return the whole number that a counter's text stands for. Raises `NotANumber` saying what it is the text of."""
    value = counted(text)
    if value is None:
        raise NotANumber(what)
    return value


_DECIMAL: Final = re.compile(rb"0|-?[1-9][0-9]*")
_LENGTH_MAX: Final = 15
"""The longest text of a counter: exact as a double, and far from the end of 64 bits (docs/wire.md, rule 1)."""


class View:
    """One key of a keyspace."""

    __slots__ = ("_key", "_space")

    def __init__(self, space: Store, key: bytes) -> None:
        self._space = space
        self._key = key

    def exists(self) -> bool:
        """Whether the key is there at all."""
        return self._space.exists(self._key)

    def delete(self) -> bool:
        """Delete the key; say whether it was there."""
        return self._space.delete(self._key)

    def expire_in(self, ttl_ms: int) -> None:
        """Let the key vanish in so many ms (PEXPIRE)."""
        self._space.expire_in(self._key, ttl_ms)
