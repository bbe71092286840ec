"""What must hold in every state that a queue can reach, whoever wrote to it."""

from collections import Counter
from collections.abc import Set as AbstractSet
from typing import cast

from echomq.keys import QueueKeys
from tests.harness.state import State

__all__ = ["View", "check_places", "check_ring"]

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
            if key.startswith(keys.base + b"g:")
        }

    def members(self, key: bytes) -> dict[bytes, int]:
        entry = self.state.get(key)
        return {} if entry is None else cast("dict[bytes, int]", entry.value)

    def fields(self, key: bytes) -> dict[bytes, bytes]:
        entry = self.state.get(key)
        return {} if entry is None else cast("dict[bytes, bytes]", entry.value)

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


def check_ring(view: View, disturbed: AbstractSet[bytes]) -> None:
    """The counts in flight are true, and each serviceable lane stands on the ring, once.

    A group is disturbed when another program took the row of one of its leased jobs away: the group is forgotten then.
    """
    entry = view.state.get(view.keys.ring)
    ring = cast("tuple[bytes, ...]", entry.value) if entry else ()
    assert len(set(ring)) == len(ring), f"a group stands twice on the ring {ring}"
    flying = {group: int(count) for group, count in view.fields(view.keys.group_active).items()}
    truth = view.in_flight()
    parked = view.state.get(view.keys.paused)
    limits = view.fields(view.keys.group_limit)
    for group in {*flying, *truth, *view.lanes} - disturbed:
        act = flying.get(group, 0)
        assert act == truth[group], f"{act} of {group!r} are said to be in flight and {truth[group]} are"
        served = group not in (parked.value if parked else ()) and (group not in limits or act < int(limits[group]))
        if view.lanes.get(group) and served:
            assert group in ring, f"the lane of {group!r} is serviceable and not on the ring {ring}"
