"""What other programs do to a queue, as functions from one whole state to the next.

Speakers of the published protocol admit and claim grouped jobs, add flows and mark held jobs; careless programs delete
rows, overwrite them, or write a field to a row that is gone. The result is loaded into every body alike, so the bodies
need no verb for it. Only keys that differ are loaded.
"""

from typing import cast

from echomq.ids import JobId
from echomq.keys import QueueKeys
from tests.harness.state import Entry, State, Value

__all__ = [
    "SPOILS",
    "break_row",
    "complete",
    "damage_parent",
    "gclaim",
    "genqueue",
    "hold_parent",
    "lock",
    "mend",
    "park",
    "reprocess",
    "set_limit",
    "skeleton",
    "spoil",
    "unpark",
    "vanish",
]


class _Editor:
    """A state that is being changed: one mutable copy of each value that is asked for."""

    def __init__(self, keys: QueueKeys, state: State) -> None:
        self.keys = keys
        self.state = dict(state)
        self._zsets: dict[bytes, dict[bytes, int]] = {}
        self._hashes: dict[bytes, dict[bytes, bytes]] = {}
        self._lists: dict[bytes, list[bytes]] = {}
        self._sets: dict[bytes, set[bytes]] = {}

    def zset(self, key: bytes) -> dict[bytes, int]:
        return self._zsets.setdefault(key, dict(cast("dict[bytes, int]", self._value(key, {}))))

    def hash(self, key: bytes) -> dict[bytes, bytes]:
        return self._hashes.setdefault(key, dict(cast("dict[bytes, bytes]", self._value(key, {}))))

    def list(self, key: bytes) -> list[bytes]:
        return self._lists.setdefault(key, list(cast("tuple[bytes, ...]", self._value(key, ()))))

    def set(self, key: bytes) -> set[bytes]:
        return self._sets.setdefault(key, set(cast("frozenset[bytes]", self._value(key, frozenset()))))

    def row(self, job: bytes) -> dict[bytes, bytes] | None:
        """The job's row when it is a hash, else None."""
        key = self.keys.job(JobId(job))
        entry = self.state.get(key)
        return None if entry is None or entry.kind != "hash" else self.hash(key)

    def _value(self, key: bytes, empty: Value) -> Value:
        entry = self.state.get(key)
        return empty if entry is None else entry.value

    def done(self) -> State:
        """Return the changed state; empty collections are absent keys."""
        for key, pairs in self._hashes.items():
            self._put(key, "hash", pairs)
        for key, scores in self._zsets.items():
            self._put(key, "zset", scores)
        for key, items in self._lists.items():
            self._put(key, "list", tuple(items))
        for key, members in self._sets.items():
            self._put(key, "set", frozenset(members))
        return self.state

    def _put(self, key: bytes, kind: str, value: Value) -> None:
        old = self.state.pop(key, None)
        if value:
            self.state[key] = Entry(kind, value, old.ttl if old else None, old.field_ttls if old else ())

    def is_full(self, group: bytes, act: int) -> bool:
        limit = self.hash(self.keys.group_limit).get(group, b"")
        return limit.isdigit() and act >= int(limit)  # what is no number limits nothing

    def enter_ring(self, group: bytes, act: int) -> None:
        """The ring entry rule R of protocol 0."""
        keys = self.keys
        ring = self.list(keys.ring)
        if group in self.set(keys.paused) or self.is_full(group, act) or group in ring:
            return
        ring.append(group)
        self.list(keys.wake).insert(0, b"1")
        del self.list(keys.wake)[64:]


def genqueue(keys: QueueKeys, state: State, job: JobId, group: str) -> State:
    """Protocol 4.16.1."""
    edit, g = _Editor(keys, state), group.encode()
    if keys.job(job) in state:
        return state
    edit.hash(keys.job(job)).update({b"state": b"pending", b"attempts": b"0", b"payload": b"g", b"group": g})
    edit.zset(keys.lane(group))[bytes(job)] = 0
    edit.enter_ring(g, int(edit.hash(keys.group_active).get(g, b"0")))
    return edit.done()


def gclaim(keys: QueueKeys, state: State, now: int, lease: int) -> State:
    """Protocol 4.16.2, with a guard against ghosts (they are dropped, and the claim is empty)."""
    edit = _Editor(keys, state)
    ring = edit.list(keys.ring)
    if not ring:
        return state
    ring.append(ring.pop(0))
    group = ring[-1]
    lane = edit.zset(keys.lane(group.decode()))
    job = min(lane, default=None)
    row = edit.row(job) if job is not None else None
    if job is not None:
        del lane[job]
    if job is not None and row is not None and b"attempts" in row:
        row.update({b"attempts": b"%d" % (int(row[b"attempts"]) + 1), b"state": b"active"})
        edit.zset(keys.active)[job] = now + lease
        flying = edit.hash(keys.group_active)
        act = int(flying.get(group, b"0")) + 1
        flying[group] = b"%d" % act
        if edit.is_full(group, act):
            _leave_ring(ring, group)
    if not lane:
        _leave_ring(ring, group)
    return edit.done()


def complete(keys: QueueKeys, state: State, job: JobId) -> State:
    """Protocol 4.6 by the holder of a job that is no flow child, with step L; the row alone is deleted (W39)."""
    edit = _Editor(keys, state)
    row = edit.row(job)
    if row is None or b"attempts" not in row or b"parent" in row or bytes(job) not in edit.zset(keys.active):
        return state
    del edit.zset(keys.active)[bytes(job)]
    if b"group" in row:
        flying, group = edit.hash(keys.group_active), row[b"group"]
        act = int(flying.pop(group, b"0")) - 1
        if act > 0:
            flying[group] = b"%d" % act
        if edit.zset(keys.lane(group.decode())):
            edit.enter_ring(group, act)
    row.clear()
    counts = edit.hash(keys.metrics_completed)
    counts[b"count"] = b"%d" % (int(counts.get(b"count", b"0")) + 1)
    return edit.done()


def reprocess(keys: QueueKeys, state: State, job: JobId) -> State:
    """Protocol 4.15: the job goes to the flat set, also when it has a group (W8)."""
    edit = _Editor(keys, state)
    row = edit.row(job)
    if row is None or b"attempts" not in row or bytes(job) not in edit.zset(keys.dead):
        return state
    del edit.zset(keys.dead)[bytes(job)]
    row.pop(b"last_error", None)
    row[b"state"] = b"pending"
    edit.zset(keys.pending)[bytes(job)] = 0
    return edit.done()


def _leave_ring(ring: list[bytes], group: bytes) -> None:
    ring[:] = [other for other in ring if other != group]


def park(keys: QueueKeys, state: State, group: str) -> State:
    """Protocol 4.16.6."""
    edit = _Editor(keys, state)
    edit.set(keys.paused).add(group.encode())
    _leave_ring(edit.list(keys.ring), group.encode())
    return edit.done()


def unpark(keys: QueueKeys, state: State, group: str) -> State:
    """Protocol 4.16.7."""
    edit, g = _Editor(keys, state), group.encode()
    edit.set(keys.paused).discard(g)
    if edit.zset(keys.lane(group)):
        edit.enter_ring(g, int(edit.hash(keys.group_active).get(g, b"0")))
    return edit.done()


def set_limit(keys: QueueKeys, state: State, group: str, limit: int) -> State:
    """Protocol 4.16.8."""
    edit, g = _Editor(keys, state), group.encode()
    edit.hash(keys.group_limit)[g] = b"%d" % limit
    act = int(edit.hash(keys.group_active).get(g, b"0"))
    if act >= limit:
        _leave_ring(edit.list(keys.ring), g)
    elif edit.zset(keys.lane(group)):
        edit.enter_ring(g, act)
    return edit.done()


def hold_parent(
    keys: QueueKeys, state: State, parent: JobId, children: list[JobId], policy: bytes, grandparent: JobId | None
) -> State:
    """A flow of protocol 4.17.2 whose ids are all new, with the policies written at once."""
    if any(keys.job(job) in state for job in (parent, *children)):
        return state
    edit = _Editor(keys, state)
    row = edit.hash(keys.job(parent))
    row.update({b"state": b"awaiting_children", b"attempts": b"0", b"payload": b"parent"})
    if grandparent is not None:
        row.update({b"parent": bytes(grandparent), b"parent_queue": b"elsewhere", b"parent_policy": b"id"})
    edit.state[keys.job(parent) + b":dependencies"] = Entry("string", b"%d" % len(children))
    for child in children:
        fields = {b"state": b"pending", b"attempts": b"0", b"payload": b"child", b"parent": bytes(parent)}
        edit.hash(keys.job(child)).update({**fields, b"parent_policy": policy})
        edit.zset(keys.pending)[bytes(child)] = 0
    return edit.done()


def vanish(keys: QueueKeys, state: State, job: JobId) -> State:
    """The row is deleted; the id stays where it is: a ghost."""
    return {key: entry for key, entry in state.items() if key != keys.job(job)}


def skeleton(keys: QueueKeys, state: State, job: JobId) -> State:
    """A field is written to the row of a job that is gone."""
    return {**vanish(keys, state, job), keys.job(job): Entry("hash", {b"parent_policy": b"fp"})}


def break_row(keys: QueueKeys, state: State, job: JobId) -> State:
    """The row is overwritten by a key of another type."""
    return {**state, keys.job(job): Entry("string", b"broken")}


def damage_parent(keys: QueueKeys, state: State, parent: JobId, how: str) -> State:
    """A key below a parent's row is overwritten; or what is damaged there is mended, as far as anybody can."""
    row = keys.job(parent)
    if how == "mend":
        spoilt = [key for key, entry in state.items() if key.startswith(row + b":") and entry in _SPOILT]
        return {key: entry for key, entry in state.items() if key not in spoilt}
    left, foreign = _SPOILT
    return {**state, row + b":" + how.encode(): left if how == "dependencies" else foreign}


_SPOILT = (Entry("string", b"99999999999999999999"), Entry("list", (b"another program's",)))


def lock(keys: QueueKeys, state: State, job: JobId, how: str) -> State:
    """The marks of the lock plane (protocol 4.19): the string, the field with its TTL, or the field alone."""
    if how == "string":
        return {**state, keys.job_lock(job): Entry("string", b"1", 2)}
    entry = state.get(keys.job(job))
    if entry is None or entry.kind != "hash":
        return state
    value = {**cast("dict[bytes, bytes]", entry.value), b"lock": b"1"}
    return {**state, keys.job(job): Entry("hash", value, None, ((b"lock", 2),) if how == "field" else ())}


def take_out(keys: QueueKeys, state: State, job: JobId) -> State:
    """The id is taken out of whatever set it is in; the row stays."""
    edit = _Editor(keys, state)
    for key in (keys.pending, keys.active, keys.schedule, keys.dead):
        edit.zset(key).pop(bytes(job), None)
    return edit.done()


SPOILS = ("lane", "ring", "paused", "gactive", "glimit", "wake", "lanes", "count", "limit", "weight", "ceiling", "rota")
"""What `spoil` can damage: keys of lanes that get another type, and numbers that are none."""


def spoil(keys: QueueKeys, state: State, group: str, what: str) -> State:
    """A key that lanes are made of is overwritten, or a number in it."""
    whole = {
        "lane": keys.lane(group),
        "ring": keys.ring,
        "paused": keys.paused,
        "gactive": keys.group_active,
        "glimit": keys.group_limit,
        "wake": keys.wake,
        "lanes": keys.lanes,
    }
    if what in whole:
        return {**state, whole[what]: Entry("string", b"spoilt")}
    fields = {
        "count": (keys.group_active, group.encode(), b"many"),
        "limit": (keys.group_limit, group.encode(), b"few"),
        "weight": (keys.group_weight, group.encode(), b"0"),
        "ceiling": (keys.meta, b"concurrency", b"0"),
        "rota": (keys.rota, b"left", b"-1"),
    }
    key, field, text = fields[what]
    entry = state.get(key, Entry("hash", {}))
    if entry.kind != "hash":
        return state
    return {**state, key: Entry("hash", {**cast("dict[bytes, bytes]", entry.value), field: text})}


def mend(keys: QueueKeys, state: State) -> State:
    """What scripts cannot live with is deleted, and what they make anew; what `spoil` replaced does not come back."""
    spoilt = Entry("string", b"spoilt")
    gone = (keys.ring, keys.lanes, keys.rota, keys.fresh_next)
    edit = _Editor(keys, {key: entry for key, entry in state.items() if entry != spoilt and key not in gone})
    counts = edit.hash(keys.group_active)
    for group in [group for group, text in counts.items() if not text.isdigit()]:
        del counts[group]
    for key in [key for key in edit.state if key.startswith(keys.base + b"g:")]:
        for job in list(lane := edit.zset(key)):
            if b"attempts" not in (edit.row(job) or {}):
                del lane[job]
    return edit.done()
