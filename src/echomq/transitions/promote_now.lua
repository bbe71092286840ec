-- promote_now: make one scheduled job ready at once (ours, docs/wire.md).
--
-- keys   job        row of the job (hash)
--        schedule   jobs that wait for an instant (zset)
--        base       the queue's base, itself no key
-- args   id
-- reply  ["promoted"]   ["gone"]   ["not_scheduled"]   WRONGTYPE the row is no hash
--@use is_broken
--@use broken_row
--@use need
--@use look_lane
--@use make_ready

local row = redis.pcall('HMGET', job_key, 'attempts', 'group')
if row.err and is_broken(row) then
  return broken_row(id)
end
if not row[1] then
  return { 'gone' }
end
if not redis.call('ZSCORE', schedule_key, id) then
  return { 'not_scheduled' }
end
local group = row[2] or nil
local lane = group and need(look_lane(base_key, group))
if not group then
  redis.call('ZCARD', base_key .. 'pending')
end
-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
redis.call('ZREM', schedule_key, id)
make_ready(base_key, id, job_key, group, lane)
return { 'promoted' }
