"""What must hold in every state that a queue can reach, whoever wrote to it."""

from collections import Counter
from collections.abc import Set as AbstractSet
from typing import cast

from echomq.keys import QueueKeys
from tests.harness.state import State

__all__ = ["View", "check_places"]

_STATES = {"pending": b"pending", "lane": b"pending", "active": b"active", "schedule": b"scheduled", "dead": b"dead"}


class View:
    """A whole state, read as a queue."""

    def __init__(self, keys: QueueKeys, state: State) -> None:
        self.keys = keys
        self.state = state
        self.rows = {
            key[len(keys.base) + 4 :]: cast("dict[bytes, bytes]", entry.value)
            for key, entry in state.items()
            if key.startswith(keys.base + b"job:") and key.count(b":") == 3 and entry.kind == "hash"
        }
        self.jobs = {job: row for job, row in self.rows.items() if b"attempts" in row}
        self.lanes = {
            key[len(keys.base) + 2 : -len(b":pending")]: frozenset(cast("dict[bytes, int]", entry.value))
            for key, entry in state.items()
            if key.startswith(keys.base + b"g:") and entry.kind == "zset"
        }

    def members(self, key: bytes) -> dict[bytes, int]:
        """Return the ids of a sorted set with their scores; one that was overwritten has none."""
        entry = self.state.get(key)
        return {} if entry is None or entry.kind != "zset" else cast("dict[bytes, int]", entry.value)

    def fields(self, key: bytes) -> dict[bytes, bytes]:
        """Return a hash; one that was overwritten is empty."""
        entry = self.state.get(key)
        return {} if entry is None or entry.kind != "hash" else cast("dict[bytes, bytes]", entry.value)

    def places(self) -> dict[bytes, list[str]]:
        """Return, for each id in any set or lane, the names of the places it is in."""
        found: dict[bytes, list[str]] = {}
        for name in ("pending", "active", "schedule", "dead"):
            for job in self.members(getattr(self.keys, name)):
                found.setdefault(job, []).append(name)
        for lane in self.lanes.values():
            for job in lane:
                found.setdefault(job, []).append("lane")
        return found

    def groups(self) -> set[bytes]:
        """Return the groups that any key of the queue names."""
        parked = self.state.get(self.keys.paused)
        named = (self.keys.group_active, self.keys.group_limit, self.keys.group_weight, self.keys.lanes)
        return {
            *self.lanes,
            *(group for key in named for group in (*self.fields(key), *self.members(key))),
            *(cast("frozenset[bytes]", parked.value) if parked else ()),
            *self.ring(),
        }

    def ring(self) -> tuple[bytes, ...]:
        entry = self.state.get(self.keys.ring)
        return cast("tuple[bytes, ...]", entry.value) if entry else ()

    def tokens(self) -> tuple[bytes, ...]:
        """Return the wake tokens that lie there."""
        entry = self.state.get(self.keys.wake)
        return cast("tuple[bytes, ...]", entry.value) if entry else ()

    def watcher(self) -> bytes | None:
        """Return who watches for what is due or lapses, None for nobody."""
        entry = self.state.get(self.keys.watch)
        return None if entry is None else cast("bytes", entry.value).rpartition(b" ")[0]

    def has_settings(self, group: bytes) -> bool:
        """Whether the group is parked, counted, limited or weighed, whatever waits in its lane."""
        named = (self.keys.group_active, self.keys.group_limit, self.keys.group_weight)
        return self.is_parked(group) or any(group in self.fields(key) for key in named)

    def owing(self) -> frozenset[bytes]:
        """Return the lanes (the flat set: the empty name) whose next place is a fresh job's."""
        entry = self.state.get(self.keys.fresh_next)
        return cast("frozenset[bytes]", entry.value) if entry else frozenset()

    def is_parked(self, group: bytes) -> bool:
        entry = self.state.get(self.keys.paused)
        return entry is not None and group in cast("frozenset[bytes]", entry.value)

    def flying(self, group: bytes) -> int:
        """Return how many jobs of the group are said to be in flight."""
        return int(self.fields(self.keys.group_active).get(group, b"0"))

    def limit(self, group: bytes) -> int | None:
        """Return the group's limit; one that is no number limits nothing."""
        text = self.fields(self.keys.group_limit).get(group, b"")
        return int(text) if text.isdigit() else None

    def weight(self, group: bytes) -> int:
        """Return the group's weight; one that is no number of at least 1 is 1."""
        text = self.fields(self.keys.group_weight).get(group, b"")
        return max(int(text), 1) if text.isdigit() else 1

    def ceiling(self) -> int | None:
        """Return how many jobs of the queue may be in flight; one that is no number of at least 1 is no ceiling."""
        text = self.fields(self.keys.meta).get(b"concurrency", b"")
        return int(text) if text.isdigit() and int(text) > 0 else None

    def is_spoilt(self) -> bool:
        """Whether a key that lanes are made of is damaged."""
        named = (self.keys.ring, self.keys.paused, self.keys.group_active, self.keys.group_limit, self.keys.wake)
        lanes = [key for key in self.state if key.startswith(self.keys.base + b"g:")]
        return any(
            key in self.state and self.state[key].kind == "string" for key in [*named, self.keys.lanes, *lanes]
        ) or any(not text.isdigit() for text in self.fields(self.keys.group_active).values())

    def serviceable(self, group: bytes) -> bool:
        """Whether the group's lane can be served, by what the queue says of itself (docs/wire.md, rule 10)."""
        limit = self.limit(group)
        has_a_seat = limit is None or self.flying(group) < limit
        return bool(self.lanes.get(group)) and not self.is_parked(group) and has_a_seat

    def live(self, group: bytes) -> bool:
        """Whether jobs of the group wait or are in flight (docs/wire.md, rule 11)."""
        return bool(self.lanes.get(group)) or self.flying(group) > 0

    def load(self, group: bytes) -> tuple[frozenset[bytes], int]:
        """Return the ids in the group's lane, and how many of its jobs are said to be in flight."""
        return self.lanes.get(group, frozenset()), self.flying(group)

    def count_of(self, key: bytes) -> int:
        return int(self.fields(key).get(b"count", b"0"))

    def in_flight(self) -> Counter[bytes]:
        """Return how many leased jobs each group has."""
        leased = self.members(self.keys.active)
        return Counter(row[b"group"] for job, row in self.jobs.items() if job in leased and b"group" in row)


def check_places(view: View, haunted: AbstractSet[bytes]) -> None:
    """Each job is in exactly one place, which is the one its row names, and no id is in two.

    A job is haunted when its id was admitted anew while a ghost of it still stood somewhere.
    """
    places = view.places()
    for job, found in places.items():
        assert len(found) == 1 or job in haunted, f"{job!r} is in {found}"
    for job, row in view.jobs.items():
        if job in haunted:
            continue
        if row[b"state"] == b"awaiting_children":
            assert job not in places, f"the held parent {job!r} is in {places[job]}"
            continue
        assert job in places, f"{job!r} is lost: its row says {row!r} and it is in no set"
        assert row[b"state"] == _STATES[places[job][0]], f"{job!r} is in {places[job]} and its row says {row!r}"
        if places[job] == ["lane"]:
            assert job in view.lanes[row[b"group"]], f"{job!r} is in another group's lane"
