-- release: the holder hands a job back, and the attempt is not spent (ours, docs/wire.md).
--
-- keys   active   leased jobs by lease end (zset)
--        job      row of the job (hash)
--        base     the queue's base, itself no key
-- args   id, token (of the claim)
-- reply  ["released"]   ["stale"] the caller does not hold the job   ["gone"]   WRONGTYPE the row is no hash
--
-- The token stays as it is, since it is the fence; `unspent` counts what the cap must not. Only a leased job is handed
-- back: one that lapsed is ready already.
--@use is_broken
--@use broken_row
--@use need
--@use counted
--@use miscounted
--@use look_place
--@use look_ceiling
--@use fly
--@use make_ready
--@use close_lanes

local row = redis.pcall('HMGET', job_key, 'attempts', 'group', 'unspent')
if row.err and is_broken(row) then
  return broken_row(id)
end
local attempts, group = row[1], row[2]
if not attempts then
  return { 'gone' }
end
if attempts ~= token or token == '0' then
  return { 'stale' }
end
local handed_back = counted(row[3] or '0')
if not handed_back then
  return redis.error_reply(miscounted(job_key, 'unspent'))
end
local lane = look_place(base_key, group)
need(nil, look_ceiling(base_key, active_key))

-- ZREM is the last look and the first write at once; it is allowed on a full server.
if redis.call('ZREM', active_key, id) == 0 then
  return { 'stale' }
end
tally.ended = 1
if group then
  fly(base_key, lane, -1)
end
redis.call('HSET', job_key, 'unspent', handed_back + 1)
make_ready(base_key, id, job_key, group, lane)
close_lanes(base_key)
return { 'released' }
