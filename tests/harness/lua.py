"""The Lua bodies on a real server.

Time passes without a hook in any script: every deadline in the database is moved back instead (scores of leases and due
times, remaining times of keys and fields, instants in fields), which is the same to every script. The virtual instant
of a value is therefore its server instant, less the start, plus all hours that were let pass.

Two steps never fall into one millisecond of the server, so the order of what they wrote is the order of the steps.
"""

import re
from collections.abc import Sequence
from typing import TypeVar, cast

from echomq.keys import VERSION
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from tests.harness.body import hours, in_hours
from tests.harness.state import HOUR, Entry, State, Value, is_instant, is_time_scored, is_watch, rewatched
from tests.harness.wire import Part, Wire

__all__ = ["LuaBody"]

Answer = TypeVar("Answer")

_SENTINEL = b"tests:sentinel"
_DATABASE = 9
"""Of its own: whole states are compared, and programs under other tests lease node numbers in database 0."""

_BULK = 64


class LuaBody:
    """See `Body`. One connection for calls, one that listens."""

    name = "lua"

    def __init__(self, unix_path: str) -> None:
        self.wire = Wire(unix_path)
        self.wire.ask("SELECT", _DATABASE)
        self._ears: Wire | None = None
        self._path = unix_path
        self._moved_ms = 0
        self._last_ms = self._time_ms()
        self.start_ms = self._last_ms

    def close(self) -> None:
        self.wire.close()
        if self._ears is not None:
            self._ears.close()

    def reply(self, call: Call[object]) -> Reply:
        self._next_millisecond()
        body = body_of(call.transition)
        rest: list[Part] = [len(call.keys), *call.keys, *call.args]
        reply = self.wire.ask(b"EVALSHA", body.sha1, *rest)
        if isinstance(reply, ErrorReply) and reply.word == "NOSCRIPT":
            reply = self.wire.ask(b"EVAL", body.text, *rest)
        self._last_ms = self._time_ms()  # the script ran between the two readings, perhaps long after the first one
        return reply

    def ask(self, call: Call[Answer]) -> Answer:
        return call.decode(self.reply(call))

    def run(self, call: Call[Answer]) -> Answer:
        return in_hours(self.ask(call), self.start_ms - self._moved_ms)

    def dump(self) -> State:
        found: State = {}
        for row in cast("list[list[Reply]]", self._script(_DUMP)):
            key, kind, value, ttl, field_ttls = row
            assert isinstance(key, bytes)
            assert isinstance(kind, bytes)
            if key != VERSION:
                fields = tuple(sorted((f, round(t / HOUR)) for f, t in cast("list[tuple[bytes, int]]", field_ttls)))
                left = cast("int", ttl)
                found[key] = Entry(
                    kind.decode(), self._value(key, kind, value), round(left / HOUR) if left >= 0 else None, fields
                )
        return found

    def _value(self, key: bytes, kind: bytes, value: Reply) -> Value:
        if kind == b"string":
            text = cast("bytes", value)
            return rewatched(text, self._hours) if is_watch(key) else text
        parts = cast("list[bytes]", value)
        match kind:
            case b"list":
                return tuple(parts)
            case b"set":
                return frozenset(parts)
            case b"hash":
                return {
                    name: self._text_of(int(text)) if is_instant(name, text) else text
                    for name, text in zip(parts[::2], parts[1::2], strict=True)
                }
            case b"zset":
                timed = is_time_scored(key)
                return {
                    member: self._hours(float(score)) if timed else int(float(score))
                    for member, score in zip(parts[::2], parts[1::2], strict=True)
                }
        raise AssertionError(f"no kind of key of a queue: {kind!r} at {key!r}")

    def _hours(self, server_ms: float) -> int:
        return hours(server_ms + self._moved_ms, self.start_ms)

    def _text_of(self, server_ms: float) -> bytes:
        return b"%d" % self._hours(server_ms)

    def load(self, state: State) -> None:
        commands: list[list[Part]] = []
        for key, entry in state.items():
            commands.append([b"DEL", key])
            commands += self._writes(key, entry)
            if entry.ttl is not None:
                commands.append([b"PEXPIRE", key, entry.ttl * HOUR])
            commands += [[b"HPEXPIRE", key, ttl * HOUR, b"FIELDS", 1, field] for field, ttl in entry.field_ttls]
        for reply in self.wire.pipeline(commands):
            if isinstance(reply, ErrorReply):
                raise reply

    def _writes(self, key: bytes, entry: Entry) -> list[list[Part]]:
        value = entry.value
        if isinstance(value, bytes):
            return [[b"SET", key, rewatched(value, self.at_ms) if is_watch(key) else value]]
        if isinstance(value, tuple | frozenset):
            verb = b"RPUSH" if entry.kind == "list" else b"SADD"
            return [[verb, key, *value]]
        if entry.kind == "hash":
            flat: list[Part] = []
            for name, text in cast("dict[bytes, bytes]", value).items():
                flat += [name, self.at_ms(int(text)) if is_instant(name, text) else text]
            return [[b"HSET", key, *flat]]
        timed = is_time_scored(key)
        pairs = [(self.at_ms(s) if timed else s, m) for m, s in cast("dict[bytes, int]", value).items()]
        return [
            [b"ZADD", key, *(part for pair in pairs[i : i + _BULK] for part in pair)]
            for i in range(0, len(pairs), _BULK)
        ]

    def delete(self, keys: Sequence[bytes]) -> None:
        if keys:
            self.wire.ask(b"DEL", *keys)

    def restart(self) -> None:
        self.drop()
        self._moved_ms = 0
        self.start_ms = self._last_ms = self._time_ms()

    def drop(self) -> None:
        self._script(_DROP)

    def advance(self, span_hours: int) -> None:
        self._script(_ADVANCE, span_hours * HOUR)
        self._moved_ms += span_hours * HOUR

    def at_ms(self, instant: int) -> int:
        return self.start_ms + instant * HOUR - self._moved_ms

    def listen(self) -> None:
        """Begin to keep what is published."""
        if self._ears is None:
            self._ears = Wire(self._path)
            self._ears.send([[b"PSUBSCRIBE", b"emq:*"], [b"SUBSCRIBE", _SENTINEL]])
            self._ears.receive()
            self._ears.receive()

    def published(self) -> list[tuple[bytes, bytes]]:
        # A message of our own on the same connection marks the end of all earlier ones.
        assert self._ears is not None, "listen first"
        self.wire.ask(b"PUBLISH", _SENTINEL, b"end")
        heard: list[tuple[bytes, bytes]] = []
        while (message := cast("list[bytes]", self._ears.receive()))[1] != _SENTINEL:
            heard.append((message[-2], message[-1]))
        return heard

    def _next_millisecond(self) -> None:
        while (reading := self._time_ms()) == self._last_ms:
            pass  # at most a millisecond of round trips
        self._last_ms = reading

    def _time_ms(self) -> int:
        seconds, micros = cast("list[bytes]", self.wire.ask(b"TIME"))
        return int(seconds) * 1000 + int(micros) // 1000

    def _script(self, text: bytes, *args: Part) -> Reply:
        reply = self.wire.ask(b"EVAL", text, 0, *args)
        if isinstance(reply, ErrorReply):
            raise reply
        return reply


def _squeezed(text: bytes) -> bytes:
    return re.sub(rb"\n\s+", b"\n", text)


_LEFT_OF_LOCK = b"""
local function left_of_lock(key)
  local left = redis.pcall('HPTTL', key, 'FIELDS', 1, 'lock')
  return left.err and -1 or left[1]  -- a server without field TTLs does not know the command
end
"""

_DUMP = _squeezed(
    _LEFT_OF_LOCK
    + b"""
local out = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind, value, fields = redis.call('TYPE', key).ok, nil, {}
  if kind == 'string' then value = redis.call('GET', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif kind == 'hash' then
    value = redis.call('HGETALL', key)
    local left = left_of_lock(key)
    if left >= 0 then fields = {{'lock', left}} end
  end
  out[#out + 1] = {key, kind, value or '', redis.call('PTTL', key), fields}
end
return out
"""
)

_DROP = _squeezed(b"""
for _, key in ipairs(redis.call('KEYS', '*')) do
  if key ~= '{emq}:version' then redis.call('DEL', key) end
end
""")

_ADVANCE = _squeezed(
    _LEFT_OF_LOCK
    + b"""
local span = tonumber(ARGV[1])
local function text(number) return string.format('%.0f', number) end
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  if kind == 'zset' and (key:sub(-8) == '}:active' or key:sub(-10) == '}:schedule' or key == '{emq}:nodes') then
    local flat = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #flat, 2 do redis.call('ZADD', key, 'XX', text(tonumber(flat[i + 1]) - span), flat[i]) end
  elseif kind == 'hash' then
    for _, field in ipairs({'died_at', 'completed_at'}) do
      local at = redis.call('HGET', key, field)
      if at then redis.call('HSET', key, field, text(tonumber(at) - span)) end
    end
    local left = left_of_lock(key)
    if left >= 0 and left <= span then redis.call('HDEL', key, 'lock')
    elseif left > span then redis.call('HPEXPIRE', key, text(left - span), 'FIELDS', 1, 'lock') end
  end
  if kind == 'string' and key:sub(-7) == '}:watch' then
    local name, untilms = redis.call('GET', key):match('^(.+) (%-?%d+)$')
    if name then redis.call('SET', key, name .. ' ' .. text(tonumber(untilms) - span), 'KEEPTTL') end
  end
  local left = redis.call('PTTL', key)
  if left >= 0 and left <= span then redis.call('DEL', key)
  elseif left > span then redis.call('PEXPIRE', key, text(left - span)) end
end
"""
)
