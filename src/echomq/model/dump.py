"""A comparable picture of a database: what a transition left behind, whole.

The model makes one of itself, and the tests make the very same of a real server, so that two bodies of one transition
can be held to the same keys, values and expiries with a plain ``==``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

__all__ = ["Dump", "Dumped", "Kind", "Value"]


class Kind(StrEnum):
    """The kinds of value, in the words of the server's ``TYPE``."""

    ZSET = "zset"
    HASH = "hash"
    LIST = "list"
    SET = "set"
    STRING = "string"


Value: TypeAlias = bytes | tuple[bytes, ...] | tuple[tuple[bytes, bytes], ...] | tuple[tuple[bytes, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumped:
    """One key.

    `value` is, by kind: zset, pairs (member, score) in set order; hash, pairs (field, value) sorted by field; list, its
    items; set, its members sorted; string, its bytes. `ttl_ms` is the time left, None for no expiry. `field_ttls` are
    pairs (field, ms left), sorted, of those fields of a hash that expire by themselves.
    """

    kind: Kind
    value: Value
    ttl_ms: int | None = None
    field_ttls: tuple[tuple[bytes, int], ...] = ()


Dump: TypeAlias = Mapping[bytes, Dumped]
