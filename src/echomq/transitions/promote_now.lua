-- promote_now: make one scheduled job ready at once (ours, docs/wire.md).
--
-- keys   job        row of the job (hash)
--        schedule   jobs that wait for an instant (zset)
--        base       the queue's base, itself no key
-- args   id
-- reply  ["promoted"]   ["gone"]   ["not_scheduled"]   WRONGTYPE the row is no hash
--@use is_broken
--@use broken_row
--@use look_place
--@use make_ready
--@use close_lanes

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
local lane = look_place(base_key, group)
-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
redis.call('ZREM', schedule_key, id)
make_ready(base_key, id, job_key, group, lane)
close_lanes(base_key)
return { 'promoted' }
