"""Cuts long lists into steps that a server can do without keeping others waiting.

A script blocks the server while it runs, so a step is bounded twice: in items, and in bytes that it has to copy.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

__all__ = ["BATCH_BYTES_MAX", "BATCH_MAX", "in_batches"]

Item = TypeVar("Item")

BATCH_MAX: Final = 1000
"""The most jobs, ids or lines that one call may name or ask for: the bound of every script's loop."""

BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""The most payload bytes that one step carries; a single larger item goes alone."""


def in_batches(items: Sequence[Item], bytes_of: Callable[[Item], int]) -> Iterator[Sequence[Item]]:
    """Yield the items in order, in slices of at most 1000 items and 4 MiB."""
    start, size_bytes = 0, 0
    for at, item in enumerate(items):
        item_bytes = bytes_of(item)
        if at > start and (at - start >= BATCH_MAX or size_bytes + item_bytes > BATCH_BYTES_MAX):
            yield items[start:at]
            start, size_bytes = at, 0
        size_bytes += item_bytes
    if start < len(items):
        yield items[start:]
