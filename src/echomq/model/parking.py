"""How long a worker may park, and who watches for what is due meanwhile (docs/wire.md, `take`, 8).

One parked worker watches for the next instant at which something is due or lapses. The others may park for as long as
they offer, so that an idle queue costs one early riser, not all of them.
"""

import re
from math import ceil, inf
from typing import Final

from echomq.model.keyspace import Keyspace
from echomq.model.names import Names
from echomq.model.values import String

__all__ = ["has_instants", "look_to_park", "park", "watch_of"]

GRACE_MS: Final = 1000
"""How long a watch outlives its instant."""

_WATCH: Final = re.compile(rb"(\S+) ([0-9]+)")
"""Who watches, and until which instant in ms."""


def look_to_park(space: Keyspace, names: Names, watcher: bytes) -> float:
    """Return when something is due or lapses next, in ms, infinity for never; before anything is written.

    Raises `WrongKind` for a key that `park` reads or writes.
    """
    if watcher:
        space.string(names.of(b"watch"))
    return _next_instant(space, names)


def park(space: Keyspace, names: Names, watcher: bytes, instant: float, park_ms: int) -> tuple[int, int]:
    """Return whether something is due now, 1 or 0, and for how long the caller may park in ms.

    `instant` is when something is due or lapses next. The caller may have become the watcher, if it has a name.
    """
    now_ms = space.now_ms
    if instant <= now_ms:
        return 1, 0
    if instant - now_ms > park_ms:
        return 0, park_ms
    until_ms = ceil(instant)
    if watcher:
        key = space.string(names.of(b"watch"))
        # What stands there in another form, or for an instant that is past, is nobody's watch.
        found = _WATCH.fullmatch(key.get() or b"")
        if found is not None and found[1] != watcher and now_ms < int(found[2]) <= until_ms:
            return 0, park_ms
        key.set(b"%b %d" % (watcher, until_ms))
        key.expire_in(until_ms + GRACE_MS - now_ms)
    return 0, until_ms - now_ms


def watch_of(space: Keyspace, names: Names, watcher: bytes) -> String | None:
    """Return the watch if it is this watcher's. Raises `WrongKind`."""
    key = space.string(names.of(b"watch"))
    return key if (key.get() or b"").startswith(watcher + b" ") else None


def has_instants(space: Keyspace, names: Names) -> bool:
    """Whether anything is due or lapses at some time. Raises `WrongKind`."""
    return bool(space.zset(names.of(b"schedule"))) | bool(space.zset(names.of(b"active")))


def _next_instant(space: Keyspace, names: Names) -> float:
    """Return when something is due or lapses next, in ms; infinity when nothing ever does."""
    firsts = [space.zset(names.of(name)).pairs()[:1] for name in (b"schedule", b"active")]
    return min((score for first in firsts for _, score in first), default=inf)
