"""What a server's database is to a transition: views of keys of five kinds, pub/sub, and a picture of everything."""

from collections import deque
from collections.abc import Iterator
from typing import Final, assert_never

from echomq.model.dump import Dump, Dumped, Kind, Value
from echomq.model.score_table import ScoreTable
from echomq.model.store import KINDS, Damage, Data, Held, Store, WrongKind
from echomq.model.values import Hash, List, MemberSet, String
from echomq.model.zset import ZSet

__all__ = ["START_MS", "Damage", "Keyspace", "WrongKind"]

START_MS: Final = 1_767_225_600_000
"""The instant at which a new keyspace stands unless told: 2026-01-01T00:00:00Z, in Unix ms."""

PUBLISHED_MAX: Final = 10_000
"""How many published messages are remembered."""


class Keyspace(Store):
    """A database.

    `now_ms` is the server's clock in Unix ms. `published` are the last messages sent, each with its channel before it.
    """

    def __init__(self, *, now_ms: int = START_MS) -> None:
        super().__init__(now_ms=now_ms)
        self.published: deque[tuple[bytes, bytes]] = deque(maxlen=PUBLISHED_MAX)

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
            self._held[key] = Held(_data_of(dumped), self._serial, expires_at, fields)

    def _picture(self, held: Held) -> Dumped:
        return Dumped(
            kind=KINDS[type(held.data)],
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
