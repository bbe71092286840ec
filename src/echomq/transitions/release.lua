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
--@use look_lane
--@use lower_active
--@use make_ready

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
local lane
if group then
  lane = need(look_lane(base_key, group))
else
  redis.call('ZCARD', base_key .. 'pending')
end

-- ZREM is the last look and the first write at once; it is allowed on a full server.
if redis.call('ZREM', active_key, id) == 0 then
  return { 'stale' }
end
if group then
  lower_active(base_key, group, lane)
end
redis.call('HSET', job_key, 'unspent', handed_back + 1)
make_ready(base_key, id, job_key, group, lane)
return { 'released' }
