"""A view of one key, and numbers as the text that they are stored as.

A view is taken with `Keyspace.zset`, `.hash` and so on, which is where a key's kind is judged: taking every view a body
is going to write, before the first write, is "look, then write" (docs/wire.md, rule 1). Reading a missing key gives
nothing; the first write creates it; a collection that becomes empty is deleted, as on a server.
"""

from echomq.model.store import Store

__all__ = ["NotANumber", "View", "number"]


class NotANumber(Exception):
    """A text was to be counted up and is no whole number. A server says the same and changes nothing."""


def number(text: bytes) -> int:
    """Return the whole number that a decimal text stands for, or raise `NotANumber`."""
    try:
        return int(text)
    except ValueError:
        raise NotANumber(text) from None


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
