"""An observer of limits: one script reads the counts, the limits and what is in flight at one instant of the server."""

from collections.abc import Sequence
from typing import cast

from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply
from tests.harness.wire import Wire

__all__ = ["Observer"]


class Observer:
    """Looks over a connection of its own. `most` is the highest number of each lane that was ever seen in flight."""

    def __init__(self, unix_path: str, keys: QueueKeys) -> None:
        self._wire = Wire(unix_path)
        self._keys = keys
        self.looks = 0
        self.most: dict[str, int] = {}
        self.flying = 0

    def close(self) -> None:
        self._wire.close()

    def look(self) -> None:
        """Look once. Raises `AssertionError` for a limit that is exceeded, or a count that is not the truth."""
        keys = self._keys
        reply = self._wire.ask(
            b"EVAL", _LOOK, 5, keys.active, keys.group_active, keys.group_limit, keys.meta, keys.base
        )
        assert not isinstance(reply, ErrorReply), reply
        flying, ceiling, lanes = cast("tuple[int, bytes, Sequence[tuple[bytes, int, bytes, bytes]]]", reply)
        self.looks += 1
        self.flying = max(self.flying, flying)
        assert not ceiling or flying <= int(ceiling), f"{flying} are in flight under a ceiling of {int(ceiling)}"
        for group, truth, counted, limit in lanes:
            self.most[group.decode()] = max(self.most.get(group.decode(), 0), truth)
            assert truth == int(counted), f"{truth} of {group!r} are in flight, and {counted!r} are counted"
            assert not limit or truth <= int(limit), f"{truth} of {group!r} are in flight under a limit of {limit!r}"


_LOOK = b"""
local active, gactive, glimit, meta, base = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local truth, order = {}, {}
local function see(group)
  if not truth[group] then truth[group] = 0; order[#order + 1] = group end
end
local ids = redis.call('ZRANGE', active, 0, -1)
for _, id in ipairs(ids) do
  local group = redis.call('HGET', base .. 'job:' .. id, 'group')
  if group then see(group); truth[group] = truth[group] + 1 end
end
local counted = redis.call('HGETALL', gactive)
for i = 1, #counted, 2 do see(counted[i]) end
local out = {}
for _, group in ipairs(order) do
  local count, limit = redis.call('HGET', gactive, group) or '0', redis.call('HGET', glimit, group) or ''
  out[#out + 1] = {group, truth[group], count, limit}
end
return {#ids, redis.call('HGET', meta, 'concurrency') or '', out}
"""
