"""What a server's database is to a transition: keys of five kinds, expiries, a clock that moves only when told.

Keys are visited in the order of their creation, which lets `scan` hand out slices that miss nothing while the visitor
deletes. Expired keys and fields vanish when they are looked at.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar, assert_never

from echomq.model.dump import Dump, Dumped, Kind, Value
from echomq.model.values import Hash, List, MemberSet, String
from echomq.model.zset import ScoreTable, ZSet

__all__ = ["START_MS", "Keyspace", "WrongKind"]

START_MS: Final = 1_767_225_600_000
"""The instant at which a new keyspace stands unless told: 2026-01-01T00:00:00Z, in Unix ms."""

PUBLISHED_MAX: Final = 10_000
"""How many published messages are remembered."""

Data = ScoreTable | dict[bytes, bytes] | list[bytes] | set[bytes] | bytearray
_KINDS: Final[dict[type, Kind]] = {
    ScoreTable: Kind.ZSET,
    dict: Kind.HASH,
    list: Kind.LIST,
    set: Kind.SET,
    bytearray: Kind.STRING,
}
T = TypeVar("T", bound=Data)


class WrongKind(Exception):
    """A key holds a value of another kind than the one asked for."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.key = key


@dataclass(slots=True)
class _Held:
    data: Data
    serial: int
    expires_at: int | None = None
    field_expiry: dict[bytes, int] = field(default_factory=dict)


class Keyspace:
    """A database.

    `now_ms` is the server's clock in Unix ms. `published` are the last messages sent, each with its channel before it.
    """

    def __init__(self, *, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms
        self.published: deque[tuple[bytes, bytes]] = deque(maxlen=PUBLISHED_MAX)
        self._held: dict[bytes, _Held] = {}
        self._serial = 0

    def advance(self, ms: int) -> None:
        """Move the clock forward."""
        self.now_ms += ms

    def publish(self, channel: bytes, message: bytes) -> None:
        """Send a message to a channel (PUBLISH). It is recorded in `published`."""
        self.published.append((channel, message))

    # --- views: each raises `WrongKind` when the key holds something else ---

    def zset(self, key: bytes) -> ZSet:
        """Return the sorted set at a key. Raises `WrongKind`."""
        self.for_reading(key, ScoreTable)
        return ZSet(self, key)

    def hash(self, key: bytes) -> Hash:
        """Return the hash at a key. Raises `WrongKind`."""
        self.for_reading(key, dict)
        return Hash(self, key)

    def list(self, key: bytes) -> List:
        """Return the list at a key. Raises `WrongKind`."""
        self.for_reading(key, list)
        return List(self, key)

    def set(self, key: bytes) -> MemberSet:
        """Return the set at a key. Raises `WrongKind`."""
        self.for_reading(key, set)
        return MemberSet(self, key)

    def string(self, key: bytes) -> String:
        """Return the string at a key. Raises `WrongKind`."""
        self.for_reading(key, bytearray)
        return String(self, key)

    # --- keys of any kind ---

    def kind(self, key: bytes) -> Kind | None:
        """Return what a key holds, None when it is absent (TYPE)."""
        held = self._alive(key)
        return None if held is None else _KINDS[type(held.data)]

    def exists(self, key: bytes) -> bool:
        """Whether the key is there (EXISTS)."""
        return self._alive(key) is not None

    def delete(self, key: bytes) -> bool:
        """Delete a key of any kind; say whether it was there (DEL)."""
        present = self.exists(key)
        self._held.pop(key, None)
        return present

    def expire_in(self, key: bytes, ttl_ms: int) -> None:
        """Let a key vanish in so many ms (PEXPIRE)."""
        held = self._alive(key)
        if held is not None:
            held.expires_at = self.now_ms + ttl_ms

    def expire_field_in(self, key: bytes, field: bytes, ttl_ms: int) -> None:
        """Let one field of a hash vanish in so many ms (HPEXPIRE)."""
        held = self._alive(key)
        if held is not None and isinstance(held.data, dict) and field in held.data:
            held.field_expiry[field] = self.now_ms + ttl_ms

    def field_expires(self, key: bytes, field: bytes) -> bool:
        """Whether a field of a hash will vanish by itself (HPTTL)."""
        held = self._alive(key)
        return held is not None and field in held.field_expiry

    def keep_field(self, key: bytes, field: bytes) -> None:
        """Forget that a field expires: it was written anew, or removed."""
        held = self._alive(key)
        if held is not None:
            held.field_expiry.pop(field, None)

    def scan(self, prefix: bytes, cursor: int, budget: int) -> tuple[int, tuple[bytes, ...]]:
        """Return the next cursor and the keys of one slice: those with the prefix among `budget` keys looked at (SCAN).

        The first cursor is 0, and a next cursor of 0 ends the walk. A key that is there all the time is met once.
        """
        serials = {held.serial: key for key, held in tuple(self._held.items()) if held.serial > cursor}
        slice_of = sorted(serials)[: max(budget, 1)]
        found = tuple(serials[at] for at in slice_of if serials[at].startswith(prefix) and self.exists(serials[at]))
        return (slice_of[-1] if len(slice_of) < len(serials) else 0), found

    # --- for the views ---

    def for_reading(self, key: bytes, kind: type[T]) -> T | None:
        """Return what a key holds, None when it is absent. Raises `WrongKind`."""
        held = self._alive(key)
        if held is None:
            return None
        if not isinstance(held.data, kind):
            raise WrongKind(key)
        return held.data

    def for_writing(self, key: bytes, kind: type[T]) -> T:
        """Return what a key holds, making it when it is absent. Raises `WrongKind`."""
        data = self.for_reading(key, kind)
        if data is None:
            data = kind()
            self._serial += 1
            self._held[key] = _Held(data, self._serial)
        return data

    def tidy(self, key: bytes) -> None:
        """Delete a key whose last member was taken out."""
        held = self._held.get(key)
        if held is not None and not held.data:
            del self._held[key]

    def _alive(self, key: bytes) -> _Held | None:
        held = self._held.get(key)
        if held is None:
            return None
        if self._gone(held):
            del self._held[key]
            return None
        return held

    def _gone(self, held: _Held) -> bool:
        """Drop the fields whose time is over, and say whether the whole key's is."""
        lapsed = [name for name, at in held.field_expiry.items() if at <= self.now_ms]
        for name in lapsed:
            del held.field_expiry[name]
            if isinstance(held.data, dict):
                del held.data[name]
        return bool(lapsed and not held.data) or (held.expires_at is not None and held.expires_at <= self.now_ms)

    # --- pictures ---

    def dump(self) -> dict[bytes, Dumped]:
        """Return a picture of everything, comparable with that of another keyspace or of a server."""
        alive = ((key, self._alive(key)) for key in tuple(self._held))
        return {key: self._picture(held) for key, held in alive if held is not None}

    def load(self, dump: Dump) -> None:
        """Replace everything by what a picture shows. The clock and `published` stay."""
        self._held.clear()
        for key, dumped in dump.items():
            self._serial += 1
            expires_at = None if dumped.ttl_ms is None else self.now_ms + dumped.ttl_ms
            fields = {name: self.now_ms + ttl_ms for name, ttl_ms in dumped.field_ttls}
            self._held[key] = _Held(_data_of(dumped), self._serial, expires_at, fields)

    def _picture(self, held: _Held) -> Dumped:
        return Dumped(
            kind=_KINDS[type(held.data)],
            value=_value_of(held.data),
            ttl_ms=None if held.expires_at is None else held.expires_at - self.now_ms,
            field_ttls=tuple(sorted((name, at - self.now_ms) for name, at in held.field_expiry.items())),
        )


def _value_of(data: Data) -> Value:
    match data:
        case ScoreTable():
            return tuple((member, score) for score, member in data.order)
        case dict():
            return tuple(sorted(data.items()))
        case set():
            return tuple(sorted(data))
        case bytearray():
            return bytes(data)
        case list():
            return tuple(data)
        case _:
            assert_never(data)


def _data_of(dumped: Dumped) -> Data:
    value = dumped.value
    if isinstance(value, bytes):
        return bytearray(value)
    match dumped.kind:
        case Kind.ZSET:
            table = ScoreTable()
            for member, score in _pairs(value):
                assert not isinstance(score, bytes), "a sorted set holds scores"
                table.put(member, score)
            return table
        case Kind.HASH:
            return {name: text for name, text in _pairs(value) if isinstance(text, bytes)}
        case _:
            items = [item for item in value if isinstance(item, bytes)]
            return set(items) if dumped.kind is Kind.SET else items


def _pairs(value: Value) -> Iterator[tuple[bytes, bytes | float]]:
    for pair in value:
        assert isinstance(pair, tuple), "a sorted set and a hash hold pairs"
        yield pair
