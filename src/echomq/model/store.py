"""Where the model keeps its keys: values of five kinds with their expiries, and a clock that moves only when told.

Keys are visited in the order of their creation, which lets `scan` hand out slices that miss nothing while the visitor
deletes. Expired keys and fields vanish when they are looked at.
"""

from dataclasses import dataclass, field
from typing import Final, TypeVar

from echomq.model.dump import Kind
from echomq.model.score_table import ScoreTable

__all__ = ["KINDS", "Damage", "Data", "Held", "Store", "WrongKind"]

Data = ScoreTable | dict[bytes, bytes] | list[bytes] | set[bytes] | bytearray
KINDS: Final[dict[type, Kind]] = {
    ScoreTable: Kind.ZSET,
    dict: Kind.HASH,
    list: Kind.LIST,
    set: Kind.SET,
    bytearray: Kind.STRING,
}
T = TypeVar("T", bound=Data)


class Damage(Exception):
    """What another program left behind makes a step impossible. `text` is the error that a server answers."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text


class WrongKind(Damage):
    """A key holds a value of another kind than the one asked for."""

    def __init__(self, key: bytes) -> None:
        super().__init__(b"WRONGTYPE the key %b holds a value of another type" % key)


@dataclass(slots=True)
class Held:
    """A value, its place in the order of creation, and when it or its fields vanish, in ms of the clock."""

    data: Data
    serial: int
    expires_at: int | None = None
    field_expiry: dict[bytes, int] = field(default_factory=dict)


class Store:
    """Keys and values. `now_ms` is the server's clock in Unix ms."""

    def __init__(self, *, now_ms: int) -> None:
        self.now_ms = now_ms
        self._held: dict[bytes, Held] = {}
        self._serial = 0

    # --- keys of any kind ---

    def kind(self, key: bytes) -> Kind | None:
        """Return what a key holds, None when it is absent (TYPE)."""
        held = self._alive(key)
        return None if held is None else KINDS[type(held.data)]

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
            self._held[key] = Held(data, self._serial)
        return data

    def tidy(self, key: bytes) -> None:
        """Delete a key whose last member was taken out."""
        held = self._held.get(key)
        if held is not None and not held.data:
            del self._held[key]

    def _alive(self, key: bytes) -> Held | None:
        held = self._held.get(key)
        if held is None:
            return None
        if self._gone(held):
            del self._held[key]
            return None
        return held

    def _gone(self, held: Held) -> bool:
        """Drop the fields whose time is over, and say whether the whole key's is."""
        lapsed = [name for name, at in held.field_expiry.items() if at <= self.now_ms]
        for name in lapsed:
            del held.field_expiry[name]
            if isinstance(held.data, dict):
                del held.data[name]
        return bool(lapsed and not held.data) or (held.expires_at is not None and held.expires_at <= self.now_ms)
