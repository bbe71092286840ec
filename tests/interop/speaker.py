"""A second speaker: written from protocol.md alone, as somebody would who has never seen echomq.

It sends its own small scripts over a raw connection and does not import a transition, a body or the key grammar of
echomq. It behaves as published, weaknesses included, since it stands for programs that share a queue with echomq.
"""

from typing import cast

from echomq.resp.reply import ErrorReply, Reply
from tests.harness.wire import Part, Wire

__all__ = ["Speaker"]


class Speaker:
    """Verbs of the published protocol on one queue. Error replies come back as values."""

    def __init__(self, wire: Wire, queue: str) -> None:
        self.wire = wire
        self.queue = queue
        self.base = "emq:{" + queue + "}:"

    def key(self, suffix: str) -> str:
        return self.base + suffix

    def row(self, job: bytes) -> bytes:
        return f"{self.base}job:".encode() + job

    def lane(self, group: str) -> str:
        return f"{self.base}g:{group}:pending"

    def _run(self, script: str, keys: list[Part], args: list[Part]) -> Reply:
        return self.wire.ask("EVAL", _PRELUDE + script, len(keys), *keys, *args)

    # --- flat set ---------------------------------------------------------------------------------------------------

    def enqueue(self, job: bytes, payload: bytes) -> Reply:
        return self._run(_ENQUEUE, [self.row(job), self.key("pending")], [job, payload])

    def schedule(self, job: bytes, payload: bytes, mode: str, value: int) -> Reply:
        return self._run(_SCHEDULE, [self.row(job), self.key("schedule")], [job, payload, mode, value])

    def is_paused(self) -> bool:
        return self.wire.ask("HGET", self.key("meta"), "paused") is not None

    def claim(self, lease_ms: int) -> Reply:
        """The three-key edition."""
        if self.is_paused():
            return []
        return self._run(_CLAIM3, [self.key("pending"), self.key("active"), self.base], [lease_ms])

    def claim_two_keys(self, lease_ms: int) -> Reply:
        if self.is_paused():
            return []
        return self._run(_CLAIM2, [self.key("pending"), self.key("active")], [self.key("job:"), lease_ms])

    def claim_batch(self, lease_ms: int, size: int) -> Reply:
        if self.is_paused():
            return []
        return self._run(_CLAIM_BATCH, [self.key("pending"), self.key("active")], [self.key("job:"), lease_ms, size])

    def complete(self, job: bytes, token: int) -> Reply:
        return self._run(_COMPLETE, [self.key("active"), self.row(job)], [job, token, self.base])

    def retry(self, job: bytes, token: int, delay_ms: int, max_attempts: int, error: bytes) -> Reply:
        keys: list[Part] = [self.key("active"), self.key("schedule"), self.key("dead"), self.row(job)]
        return self._run(_RETRY, keys, [job, token, delay_ms, max_attempts, error, self.base])

    def delay(self, job: bytes, token: int, mode: str, value: int) -> Reply:
        return self._run(_DELAY, [self.row(job), self.key("active"), self.key("schedule")], [job, token, mode, value])

    def promote(self, limit: int = 100) -> Reply:
        return self._run(_PROMOTE, [self.key("schedule"), self.key("pending")], [self.base, limit])

    def reap(self) -> Reply:
        return self._run(_REAP, [self.key("active"), self.key("pending")], [self.base])

    def sweep_stalled(self, max_stalled: int = 1, limit: int = 100) -> Reply:
        keys: list[Part] = [self.key("active"), self.key("pending"), self.key("dead")]
        return self._run(_SWEEP, keys, [self.base, max_stalled, limit])

    def extend(self, job: bytes, token: int, lease_ms: int) -> Reply:
        return self._run(_EXTEND, [self.key("active"), self.row(job)], [job, token, lease_ms])

    # --- operators --------------------------------------------------------------------------------------------------

    def remove(self, job: bytes, did: str = "") -> Reply:
        sets: list[Part] = [self.key(name) for name in ("pending", "active", "schedule", "dead")]
        return self._run(_REMOVE, [self.row(job), *sets, self.key("de:" + did)], [job, did])

    def reprocess(self, job: bytes) -> Reply:
        return self._run(_REPROCESS, [self.row(job), self.key("dead"), self.key("pending")], [job])

    def state(self, job: bytes) -> Reply:
        sets: list[Part] = [self.key(name) for name in ("pending", "active", "schedule", "dead")]
        return self._run(_STATE, [*sets, self.row(job)], [job])

    def browse(self, count: int) -> Reply:
        return self.wire.ask("ZRANGE", self.key("pending"), "+", "-", "BYLEX", "REV", "LIMIT", 0, count)

    def fields(self, job: bytes) -> dict[bytes, bytes]:
        flat = cast("list[bytes]", self.wire.ask("HGETALL", self.row(job)))
        return dict(zip(flat[::2], flat[1::2], strict=True))

    # --- lanes ------------------------------------------------------------------------------------------------------

    def genqueue(self, job: bytes, payload: bytes, group: str) -> Reply:
        keys: list[Part] = [self.row(job), self.lane(group)]
        keys += [self.key(name) for name in ("ring", "paused", "glimit", "gactive", "wake")]
        return self._run(_GENQUEUE, keys, [job, payload, group, self.base])

    def gclaim(self, lease_ms: int) -> Reply:
        return self._lane_claim(_GCLAIM, lease_ms)

    def gwclaim(self, lease_ms: int) -> Reply:
        """By weight: as many of one lane as its share."""
        return self._lane_claim(
            _GMANY.replace("SHARE", "tonumber(call('HGET', ARGV[1] .. 'gweight', g) or '1')"), lease_ms
        )

    def gbclaim(self, lease_ms: int) -> Reply:
        """The whole of one lane."""
        return self._lane_claim(_GMANY.replace("SHARE", "depth"), lease_ms)

    def _lane_claim(self, script: str, lease_ms: int) -> Reply:
        if self.is_paused():
            return []
        return self._run(script, [self.key("ring"), self.key("active")], [self.base, lease_ms])

    def gweight(self, group: str, weight: int) -> Reply:
        return self._run("call('HSET', KEYS[1], ARGV[1], ARGV[2]) return 1", [self.key("gweight")], [group, weight])

    def gpause(self, group: str) -> Reply:
        script = "call('SADD', KEYS[1], ARGV[1]) call('LREM', KEYS[2], 0, ARGV[1]) return 1"
        return self._run(script, [self.key("paused"), self.key("ring")], [group])

    def gresume(self, group: str) -> Reply:
        keys: list[Part] = [self.key(name) for name in ("paused", "ring", "glimit", "gactive", "wake")]
        return self._run(_GRESUME, keys, [self.base, group])

    def glimit(self, group: str, most: int) -> Reply:
        keys: list[Part] = [self.key(name) for name in ("glimit", "gactive", "ring", "paused", "wake")]
        return self._run(_GLIMIT, keys, [self.base, group, most])

    def greassign(self, job: bytes, group: str) -> Reply:
        keys: list[Part] = [self.row(job), self.lane(group)]
        keys += [self.key(name) for name in ("ring", "paused", "glimit", "gactive", "wake")]
        return self._run(_GREASSIGN, keys, [job, group, self.base])

    def gdrain(self, group: str) -> Reply:
        return self._run(_GDRAIN, [self.base, self.lane(group), self.key("ring")], [group])

    def greap_group(self, group: str, limit: int = 100) -> Reply:
        return self._run(_GREAP, [self.key("active"), self.base], [group, limit])

    def depth(self, group: str) -> Reply:
        return self.wire.ask("ZCARD", self.lane(group))

    def in_flight(self, group: str) -> int:
        return int(cast("bytes | None", self.wire.ask("HGET", self.key("gactive"), group)) or b"0")

    def ring(self) -> list[bytes]:
        return cast("list[bytes]", self.wire.ask("LRANGE", self.key("ring"), 0, -1))

    def word_of(self, reply: Reply) -> str:
        assert isinstance(reply, ErrorReply), reply
        return reply.word


_PRELUDE = """
local call = redis.call
local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function enter(base, g, act, look)
  if call('SISMEMBER', base .. 'paused', g) == 1 then return end
  if look and call('ZCARD', base .. 'g:' .. g .. ':pending') == 0 then return end
  local limit = call('HGET', base .. 'glimit', g)
  if limit and act >= tonumber(limit) then return end
  if call('LPOS', base .. 'ring', g) then return end
  call('RPUSH', base .. 'ring', g)
  call('LPUSH', base .. 'wake', '1')
  call('LTRIM', base .. 'wake', 0, 63)
end
local function lower(base, g)
  local act = call('HINCRBY', base .. 'gactive', g, -1)
  if act <= 0 then call('HDEL', base .. 'gactive', g) end
  return act
end
local function leave(base, id, g)
  local was = call('ZREM', base .. 'active', id)
  if g and was == 1 then
    enter(base, g, lower(base, g), true)
  elseif g then
    local lane = base .. 'g:' .. g .. ':pending'
    call('ZREM', lane, id)
    if call('ZCARD', lane) == 0 then call('LREM', base .. 'ring', 0, g) end
  elseif was == 0 then
    call('ZREM', base .. 'pending', id)
  end
  return was
end
local function ready(base, id, g)
  if g then
    call('ZADD', base .. 'g:' .. g .. ':pending', 0, id)
    enter(base, g, tonumber(call('HGET', base .. 'gactive', g) or '0'))
  else
    call('ZADD', base .. 'pending', 0, id)
  end
  call('HSET', base .. 'job:' .. id, 'state', 'pending')
end
local function due(mode, value)
  if mode == 'in' then return now() + tonumber(value) end
  return tonumber(value)
end
"""

_ENQUEUE = """
if ARGV[1]:sub(1, 3) ~= 'JOB' then return redis.error_reply('EMQKIND not a job') end
if call('EXISTS', KEYS[1]) == 1 then return 0 end
call('HSET', KEYS[1], 'state', 'pending', 'attempts', '0', 'payload', ARGV[2])
call('ZADD', KEYS[2], 0, ARGV[1])
return 1
"""

_SCHEDULE = """
if ARGV[1]:sub(1, 3) ~= 'JOB' then return redis.error_reply('EMQKIND not a job') end
if call('EXISTS', KEYS[1]) == 1 then return 0 end
call('HSET', KEYS[1], 'state', 'scheduled', 'attempts', '0', 'payload', ARGV[2])
call('ZADD', KEYS[2], due(ARGV[3], ARGV[4]), ARGV[1])
return 1
"""

_CLAIM3 = """
local popped = call('ZPOPMIN', KEYS[1])
if #popped == 0 then return {} end
local id, row = popped[1], KEYS[3] .. 'job:' .. popped[1]
if call('EXISTS', row) == 0 then return {} end
local token = call('HINCRBY', row, 'attempts', 1)
call('HSET', row, 'state', 'active')
call('ZADD', KEYS[2], now() + tonumber(ARGV[1]), id)
return {id, call('HGET', row, 'payload'), token}
"""

_CLAIM2 = """
local popped = call('ZPOPMIN', KEYS[1])
if #popped == 0 then return {} end
local id, row = popped[1], ARGV[1] .. popped[1]
local token = call('HINCRBY', row, 'attempts', 1)
call('HSET', row, 'state', 'active')
call('ZADD', KEYS[2], now() + tonumber(ARGV[2]), id)
return {id, call('HGET', row, 'payload'), token}
"""

_CLAIM_BATCH = """
local size = math.min(tonumber(ARGV[3]), call('ZCARD', KEYS[1]))
local at, out = now(), {}
for n = 1, size do
  local popped = call('ZPOPMIN', KEYS[1])
  if #popped == 0 then break end
  local id, row = popped[1], ARGV[1] .. popped[1]
  local token = call('HINCRBY', row, 'attempts', 1)
  call('HSET', row, 'state', 'active')
  call('ZADD', KEYS[2], at + tonumber(ARGV[2]), id)
  out[n] = {id, call('HGET', row, 'payload'), token}
end
return out
"""

_COMPLETE = """
local attempts = call('HGET', KEYS[2], 'attempts')
if not attempts then return 0 end
if attempts ~= ARGV[2] then return redis.error_reply('EMQSTALE not yours') end
leave(ARGV[3], ARGV[1], call('HGET', KEYS[2], 'group'))
call('DEL', KEYS[2])
call('HINCRBY', ARGV[3] .. 'metrics:completed', 'count', 1)
return 1
"""

_RETRY = """
local attempts = call('HGET', KEYS[4], 'attempts')
if not attempts then return redis.error_reply('EMQSTALE job gone') end
if attempts ~= ARGV[2] then return redis.error_reply('EMQSTALE not yours') end
leave(ARGV[6], ARGV[1], call('HGET', KEYS[4], 'group'))
call('HSET', KEYS[4], 'last_error', ARGV[5])
if tonumber(attempts) >= tonumber(ARGV[4]) then
  call('HSET', KEYS[4], 'state', 'dead')
  call('ZADD', KEYS[3], 0, ARGV[1])
  call('HINCRBY', ARGV[6] .. 'metrics:failed', 'count', 1)
  return 'dead'
end
call('HSET', KEYS[4], 'state', 'scheduled')
call('ZADD', KEYS[2], now() + tonumber(ARGV[3]), ARGV[1])
return 'scheduled'
"""

_DELAY = """
if ARGV[1]:sub(1, 3) ~= 'JOB' then return redis.error_reply('EMQKIND not a job') end
local attempts = call('HGET', KEYS[1], 'attempts')
if not attempts then return redis.error_reply('EMQSTALE job gone') end
if attempts ~= ARGV[2] then return redis.error_reply('EMQSTALE not yours') end
call('ZREM', KEYS[2], ARGV[1])
call('HSET', KEYS[1], 'state', 'scheduled')
call('ZADD', KEYS[3], due(ARGV[3], ARGV[4]), ARGV[1])
return 1
"""

_PROMOTE = """
local ids = call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  call('ZREM', KEYS[1], id)
  ready(ARGV[1], id, call('HGET', ARGV[1] .. 'job:' .. id, 'group'))
end
return #ids
"""

_REAP = """
local ids = call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, 100)
for _, id in ipairs(ids) do
  call('ZREM', KEYS[1], id)
  local g = call('HGET', ARGV[1] .. 'job:' .. id, 'group')
  if g then lower(ARGV[1], g) end
  ready(ARGV[1], id, g)
end
return #ids
"""

_SWEEP = """
local ids = call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, ARGV[3])
local recovered, dead = {}, {}
for _, id in ipairs(ids) do
  local row = ARGV[1] .. 'job:' .. id
  call('ZREM', KEYS[1], id)
  local g = call('HGET', row, 'group')
  local stalled = call('HINCRBY', row, 'stalled', 1)
  if g then lower(ARGV[1], g) end
  if stalled >= tonumber(ARGV[2]) then
    call('HSET', row, 'state', 'dead', 'last_error', 'stalled')
    call('ZADD', KEYS[3], 0, id)
    call('HINCRBY', ARGV[1] .. 'metrics:failed', 'count', 1)
    dead[#dead + 1] = id
  else
    ready(ARGV[1], id, g)
    recovered[#recovered + 1] = id
  end
end
return {recovered, dead}
"""

_EXTEND = """
local attempts = call('HGET', KEYS[2], 'attempts')
if not attempts then return -1 end
if attempts ~= ARGV[2] then return redis.error_reply('EMQSTALE not yours') end
call('ZADD', KEYS[1], now() + tonumber(ARGV[3]), ARGV[1])
return 1
"""

_REMOVE = """
if call('EXISTS', KEYS[1]) == 0 then return -1 end
if call('EXISTS', KEYS[1] .. ':lock') == 1 or call('HEXISTS', KEYS[1], 'lock') == 1 then
  return redis.error_reply('EMQLOCK held')
end
for n = 2, 5 do call('ZREM', KEYS[n], ARGV[1]) end
if ARGV[2] ~= '' and call('GET', KEYS[6]) == ARGV[1] then call('DEL', KEYS[6]) end
call('DEL', KEYS[1], KEYS[1] .. ':logs')
return 1
"""

_REPROCESS = """
if call('EXISTS', KEYS[1]) == 0 then return -1 end
if call('ZREM', KEYS[2], ARGV[1]) ~= 1 then return redis.error_reply('EMQSTATE not dead') end
call('HDEL', KEYS[1], 'last_error')
call('HSET', KEYS[1], 'state', 'pending')
call('ZADD', KEYS[3], 0, ARGV[1])
return 1
"""

_STATE = """
for n, name in ipairs({'pending', 'active', 'scheduled', 'dead'}) do
  if call('ZSCORE', KEYS[n], ARGV[1]) then return name end
end
local state = call('HGET', KEYS[5], 'state')
if state == 'awaiting_children' then return state end
return state and 'unknown' or 'absent'
"""

_GENQUEUE = """
if ARGV[1]:sub(1, 3) ~= 'JOB' then return redis.error_reply('EMQKIND not a job') end
if call('EXISTS', KEYS[1]) == 1 then return 0 end
call('HSET', KEYS[1], 'state', 'pending', 'attempts', '0', 'payload', ARGV[2], 'group', ARGV[3])
call('ZADD', KEYS[2], 0, ARGV[1])
enter(ARGV[4], ARGV[3], tonumber(call('HGET', KEYS[6], ARGV[3]) or '0'))
return 1
"""

_GCLAIM = """
local g = call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'RIGHT')
if not g then return {} end
local lane = ARGV[1] .. 'g:' .. g .. ':pending'
local popped = call('ZPOPMIN', lane)
if #popped == 0 then
  call('LREM', KEYS[1], 0, g)
  return {}
end
local id, row = popped[1], ARGV[1] .. 'job:' .. popped[1]
local token = call('HINCRBY', row, 'attempts', 1)
call('HSET', row, 'state', 'active')
call('ZADD', KEYS[2], now() + tonumber(ARGV[2]), id)
local act = call('HINCRBY', ARGV[1] .. 'gactive', g, 1)
local limit = call('HGET', ARGV[1] .. 'glimit', g)
if (limit and act >= tonumber(limit)) or call('ZCARD', lane) == 0 then call('LREM', KEYS[1], 0, g) end
return {id, call('HGET', row, 'payload'), token, g}
"""

_GMANY = """
local g = call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'RIGHT')
if not g then return {} end
local lane = ARGV[1] .. 'g:' .. g .. ':pending'
local depth = call('ZCARD', lane)
if depth == 0 then
  call('LREM', KEYS[1], 0, g)
  return {}
end
local limit = tonumber(call('HGET', ARGV[1] .. 'glimit', g) or 'inf')
local act = tonumber(call('HGET', ARGV[1] .. 'gactive', g) or '0')
local k = math.min(math.max(SHARE, 1), depth, limit - act)
if k <= 0 then
  call('LREM', KEYS[1], 0, g)
  return {}
end
local deadline, out = now() + tonumber(ARGV[2]), {}
for n = 1, k do
  local id = call('ZPOPMIN', lane)[1]
  local row = ARGV[1] .. 'job:' .. id
  local token = call('HINCRBY', row, 'attempts', 1)
  call('HSET', row, 'state', 'active')
  call('ZADD', KEYS[2], deadline, id)
  out[n] = {id, call('HGET', row, 'payload'), token, g}
end
act = call('HINCRBY', ARGV[1] .. 'gactive', g, k)
if act >= limit or call('ZCARD', lane) == 0 then call('LREM', KEYS[1], 0, g) end
return out
"""

_GRESUME = """
call('SREM', KEYS[1], ARGV[2])
if call('ZCARD', ARGV[1] .. 'g:' .. ARGV[2] .. ':pending') > 0 then
  enter(ARGV[1], ARGV[2], tonumber(call('HGET', KEYS[4], ARGV[2]) or '0'))
end
return 1
"""

_GLIMIT = """
local g = ARGV[2]
call('HSET', KEYS[1], g, ARGV[3])
local act = tonumber(call('HGET', KEYS[2], g) or '0')
if act >= tonumber(ARGV[3]) then
  call('LREM', KEYS[3], 0, g)
else
  enter(ARGV[1], g, act, true)
end
return 1
"""

_GREASSIGN = """
local source = call('HGET', KEYS[1], 'group')
if not source then return -1 end
if source == ARGV[2] then return 0 end
local lane = ARGV[3] .. 'g:' .. source .. ':pending'
if call('ZREM', lane, ARGV[1]) == 0 then return -2 end
call('ZADD', KEYS[2], 0, ARGV[1])
call('HSET', KEYS[1], 'group', ARGV[2])
enter(ARGV[3], ARGV[2], tonumber(call('HGET', KEYS[6], ARGV[2]) or '0'))
if call('ZCARD', lane) == 0 then call('LREM', KEYS[3], 0, source) end
return 1
"""

_GDRAIN = """
local ids = call('ZRANGE', KEYS[2], 0, -1)
for _, id in ipairs(ids) do
  local row = KEYS[1] .. 'job:' .. id
  call('DEL', row, row .. ':logs')
end
call('DEL', KEYS[2])
call('LREM', KEYS[3], 0, ARGV[1])
return #ids
"""

_GREAP = """
local ids = call('ZRANGEBYSCORE', KEYS[1], '-inf', now(), 'LIMIT', 0, ARGV[2])
local count = 0
for _, id in ipairs(ids) do
  local g = call('HGET', KEYS[2] .. 'job:' .. id, 'group')
  if g == ARGV[1] then
    call('ZREM', KEYS[1], id)
    lower(KEYS[2], g)
    ready(KEYS[2], id, g)
    count = count + 1
  end
end
return count
"""
