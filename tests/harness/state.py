"""The whole state of a database as a value, and a builder that writes such states down.

Instants in a state are *whole hours from the start of the test*; so are the remaining times of keys and fields. Tests
use leases, delays and steps of whole hours only. An hour is the bucket: a real server's clock also runs while a test
does its work, and what a test needs in real time (milliseconds; a stuck one is killed long before half an hour) can
never carry an instant into the neighbouring bucket. So no comparison depends on how fast the machine is.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from echomq.ids import JobId
from echomq.keys import QueueKeys

__all__ = [
    "HOUR",
    "TIME_FIELDS",
    "Entry",
    "Seed",
    "State",
    "Value",
    "is_instant",
    "is_time_scored",
    "is_watch",
    "job_number",
    "rewatched",
]

HOUR = 3_600_000
"""One hour in ms: the unit of every instant and duration of a test."""

TIME_FIELDS = frozenset({b"died_at", b"completed_at"})
"""Hash fields that hold an instant."""

Value = bytes | Mapping[bytes, bytes] | tuple[bytes, ...] | frozenset[bytes] | Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key: its kind, its whole value, the hours it has left, and those of its fields."""

    kind: str
    value: Value
    ttl: int | None = None
    field_ttls: tuple[tuple[bytes, int], ...] = ()


State = dict[bytes, Entry]


def is_time_scored(key: bytes) -> bool:
    """Whether the scores of this sorted set are instants."""
    return key.endswith((b"}:active", b"}:schedule")) or key == b"{emq}:nodes"


def is_instant(field: bytes, text: bytes) -> bool:
    """Whether this field of a hash holds an instant, and not what another program left there."""
    return field in TIME_FIELDS and len(text) <= 15 and text.lstrip(b"-").isdigit()


def is_watch(key: bytes) -> bool:
    """Whether this key holds the name of a watcher and an instant."""
    return key.endswith(b"}:watch")


def rewatched(text: bytes, change: Callable[[int], int]) -> bytes:
    """Return the text of a watch with its instant changed, or as it is when another program left it there."""
    name, _, until = text.rpartition(b" ")
    if not name or not 0 < len(until) <= 15 or not until.lstrip(b"-").isdigit():
        return text
    return b"%b %d" % (name, change(int(until)))


def job_number(number: int) -> JobId:
    """Return a job id minted on the first day of 2024: older than any age a test speaks of."""
    return JobId.of_snowflake((number << 22) | (7 << 12))


class Seed:
    """Writes the state of one queue down, job by job; `state()` is the value to load or to compare with.

    Methods name where a job is and return the seed, so that a state reads as a list of facts. Placing a job takes it
    from wherever it was before, and keeps the fields of its row that are not named again.

    `ring` and `lanes` are what rules 10 and 11 of docs/wire.md make of the rest: each serviceable lane once, in the
    order in which the lanes are first named, and each lane with jobs waiting or in flight. A state that has them
    otherwise says so: `ring`, `live`, or any other method on those keys.
    """

    def __init__(self, keys: QueueKeys) -> None:
        self.keys = keys
        self.zsets: dict[bytes, dict[bytes, int]] = {}
        self.hashes: dict[bytes, dict[bytes, bytes]] = {}
        self.lists: dict[bytes, list[bytes]] = {}
        self.sets: dict[bytes, set[bytes]] = {}
        self.strings: dict[bytes, bytes] = {}
        self.ttls: dict[bytes, int] = {}
        self.field_ttls: dict[bytes, dict[bytes, int]] = {}
        self.told: set[bytes] = set()
        """Of `ring` and `lanes`, those that are written down as they stand."""

    def copy(self) -> "Seed":
        other = copy.copy(self)
        for name in ("zsets", "hashes", "lists", "sets", "strings", "ttls", "field_ttls", "told"):
            setattr(other, name, copy.deepcopy(getattr(self, name)))
        return other

    def state(self) -> State:
        """Return the state; empty collections are absent keys, as on a server."""
        found: State = {}
        found.update((key, self._entry("zset", key, dict(scores))) for key, scores in self.zsets.items() if scores)
        found.update((key, self._entry("hash", key, dict(pairs))) for key, pairs in self.hashes.items() if pairs)
        found.update((key, self._entry("list", key, tuple(lines))) for key, lines in self.lists.items() if lines)
        found.update((key, self._entry("set", key, frozenset(names))) for key, names in self.sets.items() if names)
        found.update((key, self._entry("string", key, value)) for key, value in self.strings.items())
        live, ring = self._live(), self._serviceable()
        if live and self.keys.lanes not in self.told:
            found[self.keys.lanes] = Entry("zset", dict.fromkeys(live, 0))
        if ring and self.keys.ring not in self.told:
            found[self.keys.ring] = Entry("list", ring)
        return found

    def _waiting(self) -> list[bytes]:
        """Return the groups of the lanes that have jobs, in the order in which the lanes were first named."""
        prefix, suffix = self.keys.base + b"g:", b":pending"
        lanes = [key for key, jobs in self.zsets.items() if key.startswith(prefix) and key.endswith(suffix) and jobs]
        return [key[len(prefix) : -len(suffix)] for key in lanes]

    def _live(self) -> list[bytes]:
        flying = self.hashes.get(self.keys.group_active, {})
        return list(dict.fromkeys([*self._waiting(), *(group for group, count in flying.items() if count != b"0")]))

    def _serviceable(self) -> tuple[bytes, ...]:
        parked = self.sets.get(self.keys.paused, set())
        return tuple(group for group in self._waiting() if group not in parked and self._has_a_seat(group))

    def _has_a_seat(self, group: bytes) -> bool:
        limit = self.hashes.get(self.keys.group_limit, {}).get(group, b"")
        act = self.hashes.get(self.keys.group_active, {}).get(group, b"0")
        return not limit.isdigit() or not act.isdigit() or int(act) < int(limit)

    def _tell(self, key: bytes) -> None:
        if key in (self.keys.ring, self.keys.lanes):
            self.told.add(key)

    def _entry(self, kind: str, key: bytes, value: Value) -> Entry:
        return Entry(kind, value, self.ttls.get(key), tuple(sorted(self.field_ttls.get(key, {}).items())))

    # --- jobs -------------------------------------------------------------------------------------------------------

    def pending(self, job: JobId, attempts: bytes | int | None = None, **fields: bytes | int) -> Self:
        """The job is ready: in its lane when its row has a group, else in pending."""
        self.out(job).row(job, state=b"pending", attempts=attempts, **fields)
        return self.member(self.ready_key(job), job, 0)

    def active(self, job: JobId, attempts: bytes | int | None = None, *, ends: int, **fields: bytes | int) -> Self:
        """The job is leased until the instant `ends`."""
        self.out(job).row(job, state=b"active", attempts=attempts, **fields)
        return self.member(self.keys.active, job, ends)

    def scheduled(self, job: JobId, attempts: bytes | int | None = None, *, due: int, **fields: bytes | int) -> Self:
        """The job waits until the instant `due`."""
        self.out(job).row(job, state=b"scheduled", attempts=attempts, **fields)
        return self.member(self.keys.schedule, job, due)

    def dead(self, job: JobId, attempts: bytes | int | None = None, **fields: bytes | int) -> Self:
        """The job lies in dead."""
        self.out(job).row(job, state=b"dead", attempts=attempts, **fields)
        return self.member(self.keys.dead, job, 0)

    def row(self, job: JobId, *, attempts: bytes | int | None = None, **fields: bytes | int) -> Self:
        """The job's row has these fields, and payload ``p`` and attempts 0 unless they are given or were there."""
        row = self.hashes.setdefault(self.keys.job(job), {b"payload": b"p", b"attempts": b"0"})
        if attempts is not None:
            row[b"attempts"] = _text(attempts)
        for name, value in fields.items():
            row[name.encode()] = _text(value)
        return self

    def fields(self, key: bytes, **fields: bytes | int) -> Self:
        """The hash has these fields besides those it had."""
        self._tell(key)
        for name, value in fields.items():
            self.hashes.setdefault(key, {})[name.encode()] = _text(value)
        return self

    def without(self, key: bytes, *fields: bytes) -> Self:
        """The hash lacks these fields."""
        for field in fields:
            self.hashes.get(key, {}).pop(field, None)
        return self

    def out(self, job: JobId) -> Self:
        """The job is in no set and no lane."""
        for members in self.zsets.values():
            members.pop(job, None)
        return self

    def forget(self, job: JobId) -> Self:
        """Nothing of the job is left."""
        self.out(job)
        row = self.keys.job(job)
        for key in [row, *(row + b":" + s for s in _SUBKEYS)]:
            self.drop(key)
        return self

    def drop(self, key: bytes) -> Self:
        """The key does not exist."""
        self._tell(key)
        for keys in (self.zsets, self.hashes, self.lists, self.sets, self.strings, self.ttls, self.field_ttls):
            keys.pop(key, None)
        return self

    def ready_key(self, job: JobId) -> bytes:
        group = self.hashes.get(self.keys.job(job), {}).get(b"group")
        return self.keys.pending if group is None else self.keys.lane(group.decode())

    # --- other keys -------------------------------------------------------------------------------------------------

    def member(self, key: bytes, member: bytes, score: int) -> Self:
        self._tell(key)
        self.zsets.setdefault(key, {})[bytes(member)] = score
        return self

    def string(self, key: bytes, value: bytes, *, ttl: int | None = None) -> Self:
        self._tell(key)
        self.strings[key] = value
        if ttl is not None:
            self.ttls[key] = ttl
        return self

    def lines(self, key: bytes, *lines: bytes) -> Self:
        self._tell(key)
        self.lists[key] = list(lines)
        return self

    def wakes(self, *worths: int) -> Self:
        """Exactly these tokens lie there, the one that is popped first being the first."""
        return self.lines(self.keys.wake, *(b"%d" % worth for worth in worths))

    def watched(self, watcher: str, *, until: int, left: int | None = None) -> Self:
        """The watcher looks after what is due or lapses at the instant `until`; in `left` hours, if not in as many."""
        text = b"%b %d" % (watcher.encode(), until)
        return self.string(self.keys.watch, text, ttl=until if left is None else left)

    # --- lanes ------------------------------------------------------------------------------------------------------

    def ring(self, *groups: str) -> Self:
        """Exactly these groups are on the ring, whether they can be served or not."""
        return self.lines(self.keys.ring, *(group.encode() for group in groups))

    def live(self, *groups: str) -> Self:
        """Exactly these groups are in `lanes`, whether they have jobs or not."""
        self.drop(self.keys.lanes)
        for group in groups:
            self.member(self.keys.lanes, group.encode(), 0)
        return self

    def rota(self, *, flat: int | None = None, turn: str | None = None, left: int | None = None) -> Self:
        """The rota has exactly these fields."""
        self.drop(self.keys.rota)
        told = {"flat": flat, "turn": None if turn is None else turn.encode(), "left": left}
        return self.fields(self.keys.rota, **{name: value for name, value in told.items() if value is not None})

    def owes_fresh(self, *groups: str) -> Self:
        """Exactly these lanes (the flat set: the empty name) owe their next place to a fresh job."""
        self.sets[self.keys.fresh_next] = {group.encode() for group in groups}
        return self

    def weight(self, group: str, weight: int) -> Self:
        return self.fields(self.keys.group_weight, **{group: weight})

    def parked(self, *groups: str) -> Self:
        self.sets[self.keys.paused] = {group.encode() for group in groups}
        return self

    def in_flight(self, group: str, count: int | None) -> Self:
        """The group's number in flight; None: the field is absent."""
        held = self.hashes.setdefault(self.keys.group_active, {})
        if count is None:
            held.pop(group.encode(), None)
        else:
            held[group.encode()] = b"%d" % count
        return self

    def limit(self, group: str, count: int) -> Self:
        self.hashes.setdefault(self.keys.group_limit, {})[group.encode()] = b"%d" % count
        return self

    def concurrency(self, most: int) -> Self:
        return self.fields(self.keys.meta, concurrency=most)

    def paused(self) -> Self:
        return self.fields(self.keys.meta, paused=b"1")

    def completed(self, count: int) -> Self:
        return self.fields(self.keys.metrics_completed, count=count)

    def failed(self, count: int) -> Self:
        return self.fields(self.keys.metrics_failed, count=count)

    def broken(self, job: JobId) -> Self:
        """The job's row is overwritten by another program: a key of another type."""
        self.drop(self.keys.job(job))
        return self.string(self.keys.job(job), b"another program's")


_SUBKEYS = (b"logs", b"lock", b"dependencies", b"processed", b"failed", b"unsuccessful", b"result")


def _text(value: bytes | int) -> bytes:
    return value if isinstance(value, bytes) else b"%d" % value
