"""What an operator is told of a whole queue."""

from dataclasses import dataclass

__all__ = [
    "ActiveJobs",
    "Drained",
    "MoreToObliterate",
    "NotPaused",
    "Obliterated",
    "Resumed",
]


@dataclass(frozen=True, slots=True)
class Resumed:
    """The queue is not paused (any more)."""


@dataclass(frozen=True, slots=True)
class Drained:
    """How many waiting jobs of this slice were deleted, and whether there may be more: then call again."""

    count: int
    more: bool


@dataclass(frozen=True, slots=True)
class Obliterated:
    """Nothing of the queue is left."""


@dataclass(frozen=True, slots=True)
class MoreToObliterate:
    """A slice was deleted and more is left: call again with `cursor`."""

    cursor: str


@dataclass(frozen=True, slots=True)
class NotPaused:
    """Only a paused queue can be obliterated; nothing changed."""


@dataclass(frozen=True, slots=True)
class ActiveJobs:
    """Jobs are running; nothing changed. Wait for them, or force."""
