"""The Python model, whose clock moves when told, and by one millisecond with each call, so that steps have an order."""

import time
from collections.abc import Sequence
from typing import TypeVar, cast

from echomq.keys import VERSION
from echomq.model.dump import Dumped, Kind
from echomq.model.dump import Value as DumpedValue
from echomq.model.keyspace import Keyspace
from echomq.model.queue import Model
from echomq.resp.reply import Reply
from echomq.transitions.call import Call
from tests.harness.body import hours, in_hours
from tests.harness.state import HOUR, Entry, State, Value, is_instant, is_time_scored, is_watch, rewatched

__all__ = ["ModelBody"]

Answer = TypeVar("Answer")


class ModelBody:
    """See `Body`."""

    name = "model"

    def __init__(self) -> None:
        self.restart()

    def reply(self, call: Call[object]) -> Reply:
        self.keyspace.advance(1)
        return self.model.reply(call)

    def ask(self, call: Call[Answer]) -> Answer:
        return call.decode(self.reply(call))

    def run(self, call: Call[Answer]) -> Answer:
        return in_hours(self.ask(call), self.start_ms)

    def dump(self) -> State:
        return {
            key: Entry(
                dumped.kind.value,
                self._value(key, dumped),
                None if dumped.ttl_ms is None else round(dumped.ttl_ms / HOUR),
                tuple((name, round(ttl / HOUR)) for name, ttl in dumped.field_ttls),
            )
            for key, dumped in self.keyspace.dump().items()
            if key != VERSION
        }

    def _value(self, key: bytes, dumped: Dumped) -> Value:
        value = dumped.value
        match dumped.kind:
            case Kind.STRING if is_watch(key):
                return rewatched(cast("bytes", value), self._hours)
            case Kind.STRING | Kind.LIST:
                return cast("bytes | tuple[bytes, ...]", value)
            case Kind.SET:
                return frozenset(cast("tuple[bytes, ...]", value))
            case Kind.HASH:
                pairs = cast("tuple[tuple[bytes, bytes], ...]", value)
                return {n: b"%d" % self._hours(int(text)) if is_instant(n, text) else text for n, text in pairs}
            case Kind.ZSET:
                scores = cast("tuple[tuple[bytes, float], ...]", value)
                timed = is_time_scored(key)
                return {member: self._hours(score) if timed else int(score) for member, score in scores}

    def _hours(self, instant_ms: float) -> int:
        return hours(instant_ms, self.start_ms)

    def load(self, state: State) -> None:
        self.keyspace.load({**self.keyspace.dump(), **{key: self._dumped(key, entry) for key, entry in state.items()}})

    def _dumped(self, key: bytes, entry: Entry) -> Dumped:
        return Dumped(
            kind=Kind(entry.kind),
            value=self._dumped_value(key, entry),
            ttl_ms=None if entry.ttl is None else entry.ttl * HOUR,
            field_ttls=tuple((name, ttl * HOUR) for name, ttl in entry.field_ttls),
        )

    def _dumped_value(self, key: bytes, entry: Entry) -> DumpedValue:
        value = entry.value
        if isinstance(value, bytes) and is_watch(key):
            return rewatched(value, self.at_ms)
        if isinstance(value, bytes | tuple):
            return value
        if isinstance(value, frozenset):
            return tuple(sorted(value))
        if entry.kind == "hash":
            pairs = cast("dict[bytes, bytes]", value).items()
            return tuple(sorted((n, b"%d" % self.at_ms(int(t)) if is_instant(n, t) else t) for n, t in pairs))
        timed = is_time_scored(key)
        scores = ((s, m) for m, s in cast("dict[bytes, int]", value).items())
        return tuple((member, float(self.at_ms(s) if timed else s)) for s, member in sorted(scores))

    def delete(self, keys: Sequence[bytes]) -> None:
        for key in keys:
            self.keyspace.delete(key)

    def restart(self) -> None:
        self.start_ms = int(time.time() * 1000)
        self.keyspace = Keyspace(now_ms=self.start_ms)
        self.model = Model(self.keyspace, audit=True)

    def drop(self) -> None:
        self.keyspace.load({key: dumped for key, dumped in self.keyspace.dump().items() if key == VERSION})

    def advance(self, span_hours: int) -> None:
        self.keyspace.advance(span_hours * HOUR)

    def at_ms(self, instant: int) -> int:
        return self.start_ms + instant * HOUR

    def listen(self) -> None:
        self.published()

    def published(self) -> list[tuple[bytes, bytes]]:
        heard = list(self.keyspace.published)
        self.keyspace.published.clear()
        return heard
