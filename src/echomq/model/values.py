"""Hash, list, set and string, as views of one key each (see `view`)."""

from collections.abc import Iterable, Iterator

from echomq.model.view import View, counted, number

__all__ = ["Hash", "List", "MemberSet", "String"]


class Hash(View):
    """A hash: fields and values, both bytes."""

    __slots__ = ()

    def get(self, field: bytes) -> bytes | None:
        """Return a field's value, None without it (HGET)."""
        return self._fields().get(field)

    def number(self, field: bytes, default: int = 0) -> int:
        """Return a field as a whole number, `default` without it. Raises `NotANumber`."""
        value = self.get(field)
        return default if value is None else number(value, b"the field %b of %b" % (field, self._key))

    def count(self, field: bytes, default: int = 0) -> int:
        """Return a field as a whole number for reading only, `default` also for what is none."""
        value = counted(self.get(field) or b"")
        return default if value is None else value

    def count_or_none(self, field: bytes) -> int | None:
        """Return a field as a whole number for reading only, None without it or for what is none."""
        return counted(self.get(field) or b"")

    def set(self, field: bytes, value: bytes | int) -> None:
        """Write a field; numbers as decimal text (HSET). A TTL that the field had is gone."""
        text = value if isinstance(value, bytes) else b"%d" % value
        self._space.for_writing(self._key, dict)[field] = text
        self._space.keep_field(self._key, field)

    def set_new(self, field: bytes, value: bytes) -> bool:
        """Write a field unless it is there; say whether it was written (HSETNX)."""
        if self.get(field) is not None:
            return False
        self.set(field, value)
        return True

    def add(self, field: bytes, by: int) -> int:
        """Count a field up and return what it is then (HINCRBY)."""
        value = self.number(field) + by
        self.set(field, value)
        return value

    def remove(self, *fields: bytes) -> None:
        """Take fields out (HDEL)."""
        held = self._space.for_reading(self._key, dict)
        for field in fields:
            if held is not None and held.pop(field, None) is not None:
                self._space.keep_field(self._key, field)
        self._space.tidy(self._key)

    def pairs(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return all fields and values, in the order they were written."""
        return tuple(self._fields().items())

    def expire_field_in(self, field: bytes, ttl_ms: int) -> None:
        """Let one field vanish in so many ms (HPEXPIRE)."""
        self._space.expire_field_in(self._key, field, ttl_ms)

    def field_expires(self, field: bytes) -> bool:
        """Whether the field will vanish by itself (HPTTL)."""
        return self._space.field_expires(self._key, field)

    def __contains__(self, field: bytes) -> bool:
        return self.get(field) is not None

    def __len__(self) -> int:
        return len(self._fields())

    def _fields(self) -> dict[bytes, bytes]:
        return self._space.for_reading(self._key, dict) or {}


class List(View):
    """A list of bytes."""

    __slots__ = ()

    def push(self, item: bytes) -> int:
        """Append at the tail and return the length then (RPUSH)."""
        items = self._space.for_writing(self._key, list)
        items.append(item)
        return len(items)

    def push_head(self, item: bytes) -> None:
        """Insert at the head (LPUSH)."""
        self._space.for_writing(self._key, list).insert(0, item)

    def keep_first(self, count: int) -> None:
        """Cut the tail off behind `count` items (LTRIM)."""
        del self._held()[count:]
        self._space.tidy(self._key)

    def keep_last(self, count: int) -> None:
        """Cut the head off before the last `count` items (LTRIM)."""
        held = self._held()
        del held[: max(len(held) - count, 0)]
        self._space.tidy(self._key)

    def remove_all(self, item: bytes) -> None:
        """Take out every item equal to this (LREM 0)."""
        held = self._held()
        held[:] = [other for other in held if other != item]
        self._space.tidy(self._key)

    def remove_last(self, item: bytes, count: int = 1) -> None:
        """Take out the last items equal to this, `count` of them at most (LREM -count)."""
        held = self._held()
        for _ in range(min(count, held.count(item))):
            del held[len(held) - 1 - held[::-1].index(item)]
        self._space.tidy(self._key)

    def drop_first(self, count: int) -> None:
        """Cut `count` items off at the head (LTRIM)."""
        del self._held()[:count]
        self._space.tidy(self._key)

    def replace(self, items: Iterable[bytes]) -> None:
        """Hold these items and no others, in this order."""
        self._space.for_writing(self._key, list)[:] = items
        self._space.tidy(self._key)

    def count(self, item: bytes) -> int:
        """Return how often an item stands in the list."""
        return self._held().count(item)

    def slice(self, start: int, count: int) -> tuple[bytes, ...]:
        """Return at most `count` items from the position `start` on."""
        return tuple(self._held()[start : start + count])

    def __iter__(self) -> Iterator[bytes]:
        return iter(tuple(self._held()))

    def __contains__(self, item: bytes) -> bool:
        return item in self._held()

    def __len__(self) -> int:
        return len(self._held())

    def _held(self) -> list[bytes]:
        held = self._space.for_reading(self._key, list)
        return [] if held is None else held


class MemberSet(View):
    """An unordered set of bytes."""

    __slots__ = ()

    def add(self, member: bytes) -> None:
        """Put a member in (SADD)."""
        self._space.for_writing(self._key, set).add(member)

    def remove(self, member: bytes) -> None:
        """Take a member out (SREM)."""
        held = self._space.for_reading(self._key, set)
        if held is not None:
            held.discard(member)
        self._space.tidy(self._key)

    def __iter__(self) -> Iterator[bytes]:
        return iter(tuple(self._space.for_reading(self._key, set) or ()))

    def __contains__(self, member: bytes) -> bool:
        return member in (self._space.for_reading(self._key, set) or ())


class String(View):
    """One value of bytes."""

    __slots__ = ()

    def get(self) -> bytes | None:
        """Return the bytes, None without the key (GET)."""
        held = self._space.for_reading(self._key, bytearray)
        return None if held is None else bytes(held)

    def set(self, value: bytes | int) -> None:
        """Write the value; numbers as decimal text (SET). A TTL that the key had is gone."""
        self._space.delete(self._key)
        self._store(value)

    def add(self, by: int) -> int:
        """Count the value up and return what it is then (INCRBY). The key's TTL stays."""
        value = self.number() + by
        self._store(value)
        return value

    def number(self) -> int:
        """Return the value as a whole number, 0 without the key. Raises `NotANumber`."""
        held = self.get()
        return 0 if held is None else number(held, self._key)

    def _store(self, value: bytes | int) -> None:
        text = value if isinstance(value, bytes) else b"%d" % value
        self._space.for_writing(self._key, bytearray)[:] = text
