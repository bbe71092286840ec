"""What leasing a node number answers (docs/wire.md)."""

from dataclasses import dataclass

__all__ = [
    "NodeLeased",
    "NodeNotHeld",
    "NodeReturned",
    "NodesTaken",
]


@dataclass(frozen=True, slots=True)
class NodeLeased:
    """A node number for instants after `after_ms` and up to `mark_ms`, both Unix ms as ids hold them."""

    node: int
    after_ms: int
    mark_ms: int


@dataclass(frozen=True, slots=True)
class NodesTaken:
    """Every number is leased; the first lease ends in `retry_after_ms`."""

    retry_after_ms: int


@dataclass(frozen=True, slots=True)
class NodeReturned:
    """The number is free."""


@dataclass(frozen=True, slots=True)
class NodeNotHeld:
    """The number is somebody else's by now; nothing changed."""
