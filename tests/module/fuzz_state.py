"""The whole state of the fuzzer's databases: reading it, comparing it, and what a difference is told as."""

import time
from typing import cast

from echomq.resp.reply import ErrorReply, Reply
from tests.harness.wire import Wire
from tests.module.fuzz_world import BASE

__all__ = ["Finding", "State", "compare_replica", "difference", "dump", "tokens", "unclaimed"]

_DUMP = b"""
local out = {}
for db = 0, 1 do
  redis.call('SELECT', db)
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local kind, value, fields = redis.call('TYPE', key).ok, '', {}
    if kind == 'string' then value = redis.call('GET', key)
    elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
    elseif kind == 'set' then value = redis.call('SMEMBERS', key)
    elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    elseif kind == 'hash' then
      value = redis.call('HGETALL', key)
      for at = 1, #value, 2 do
        local told = redis.pcall('HPEXPIRETIME', key, 'FIELDS', 1, value[at])
        if not told.err and told[1] >= 0 then fields[#fields + 1] = {value[at], told[1]} end
      end
    end
    found[#found + 1] = {key, kind, value, redis.call('PEXPIRETIME', key), fields}
  end
  out[#out + 1] = found
end
return out
"""
State = dict[bytes, tuple[object, ...]]


class Finding(Exception):
    """What must not be."""


def _value(kind: bytes, value: Reply) -> object:
    if kind == b"string":
        return value
    parts = cast("list[bytes]", value if isinstance(value, list) else [])
    if kind == b"hash":
        return dict(zip(parts[::2], parts[1::2], strict=True))
    return sorted(parts) if kind == b"set" else parts


def tokens(state: State) -> dict[bytes, bytes]:
    """Return the attempts of all rows by their ids."""
    rows = BASE + b"job:"
    return {
        key[len(rows) :]: value[b"attempts"]
        for key, (_, value, *_) in state.items()
        if key.startswith(rows) and isinstance(value, dict) and b"attempts" in value
    }


def dump(wire: Wire) -> list[State]:
    """Return the whole of databases 0 and 1: kind, value and instant of expiry of each key, and of fields."""
    reply = wire.ask(b"EVAL", _DUMP, 0)
    if isinstance(reply, ErrorReply):
        raise reply
    found: list[State] = []
    for rows in cast("list[list[list[Reply]]]", reply):
        state: State = {}
        for key, kind, value, until, fields in rows:
            assert isinstance(key, bytes)
            assert isinstance(kind, bytes)
            state[key] = (kind, _value(kind, value), until, sorted(cast("list[list[Reply]]", fields), key=repr))
        found.append(state)
    return found


def difference(one: State, other: State) -> str:
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return "".join(f"\n  {name!r:.200}\n    {one.get(name)!r:.900}\n    {other.get(name)!r:.900}" for name in names[:8])


def unclaimed(state: State) -> State:
    """A state as far as both must agree: `claimed_at` is the module's own, and errors are texts for a person.

    A count that expires on its own goes on doing so where the script has raised it.
    """
    plain: State = {}
    for key, (kind, value, until, fields) in state.items():
        agreed: object = value
        if isinstance(value, dict):
            agreed = {n: v for n, v in value.items() if n not in (b"claimed_at", b"last_error")}
        plain[key] = (kind, agreed, until, [] if b"}:metrics:" in key else fields)
    return plain


def _staying(state: State, until_ms: int) -> State:
    return {key: entry for key, entry in state.items() if not 0 <= cast("int", entry[2]) <= until_ms}


def compare_replica(wire: Wire, replica: Wire) -> None:
    """Raise `Finding` when the replica is not equal once it has everything."""
    wire.ask("SET", "fuzz:marker", "1")  # the server waits for the writes of the line that asks
    wire.ask("DEL", "fuzz:marker")
    if wire.ask("WAIT", 1, 20000) != 1:
        raise Finding("the replica does not follow")
    state, found = dump(wire), dump(replica)
    soon = int(time.time() * 1000) + 5000  # what expires by then may be gone in the later of two looks
    for number in (0, 1):
        one, two = _staying(state[number], soon), _staying(found[number], soon)
        if one != two:
            raise Finding(f"the replica differs in database {number}:{difference(one, two)}")
