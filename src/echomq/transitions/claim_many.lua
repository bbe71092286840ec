-- claim_many: lease the oldest ready jobs of the flat set on one common deadline (ours, docs/wire.md).
--
-- keys   pending   ready jobs of the flat set (zset)
--        active    leased jobs by lease end (zset)
--        meta      settings of the queue (hash)
--        dead      where ids with a broken row go (zset)
--        base      the queue's base, itself no key
-- args   lease_ms
--        size      how many at most, 1 to 1000
-- reply  ["paused"]   ["claimed" or "empty", left, [broken ids], [[id, payload or null, token]...]]
--
-- The pause flag is read in the same step (W33). One broken row stops nobody: its id goes to dead and is named (W2).
-- Ids without a job are dropped (W4). A hundred heads more than asked for are looked at, so ghosts do not make it seem
-- empty (W26).
--@use is_broken
--@use whole
--@use now_ms
--@use bounded
--@use counted
--@use miscounted
--@use set_aside
--@use in_chunks

local lease = whole('lease_ms', lease_ms, 1)
local most = bounded('size', size, 1)
if redis.call('HEXISTS', meta_key, 'paused') == 1 then
  return { 'paused' }
end

local call, pcall = redis.call, redis.pcall
local rows = base_key .. 'job:'
local served, walked, broken, damaged = {}, {}, {}, {}
local count = 0
local heads = call('ZRANGE', pending_key, 0, most + 99)
for place = 1, #heads do
  local id = heads[place]
  local row = pcall('HMGET', rows .. id, 'attempts', 'payload')
  local attempts = row[1]
  walked[place] = id
  local made = attempts and counted(attempts)
  if made then
    count = count + 1
    served[count] = { id, row[2], made + 1 }
    if count == most then
      break
    end
  elseif attempts or (row.err and is_broken(row)) then
    broken[#broken + 1] = id
    if attempts then
      damaged[#damaged + 1] = id
    end
  end
end
call('ZCARD', active_key)
if #broken > 0 then
  call('ZCARD', dead_key)
end

-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
in_chunks('ZREM', pending_key, walked)
local function put(set_key, score, ids)
  local pairs_of = {}
  for place = 1, #ids do
    pairs_of[2 * place - 1], pairs_of[2 * place] = score, ids[place]
  end
  in_chunks('ZADD', set_key, pairs_of)
end
put(dead_key, 0, broken)
for _, id in ipairs(damaged) do
  set_aside(rows .. id, miscounted(rows .. id, 'attempts'), now_ms())
end
if count > 0 then
  local deadline, leases = now_ms() + lease, {}
  for place = 1, count do
    local job = served[place]
    call('HSET', rows .. job[1], 'attempts', job[3], 'state', 'active')
    leases[2 * place - 1], leases[2 * place] = deadline, job[1]
  end
  in_chunks('ZADD', active_key, leases)
end
return { count > 0 and 'claimed' or 'empty', call('ZCARD', pending_key), broken, served }
