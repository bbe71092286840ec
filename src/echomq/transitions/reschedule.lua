-- reschedule: let a scheduled job wait for another instant (ours, docs/wire.md).
--
-- keys   job        row of the job (hash)
--        schedule   jobs that wait for an instant (zset)
--        wake       wake-ups for parked workers (list); left out: nobody is woken
-- args   id
--        mode    in: value is ms from now   at: value is Unix ms
--        value
-- reply  ["scheduled", due ms as decimal text]   ["gone"]   ["not_scheduled"]   WRONGTYPE the row is no hash
--@use is_broken
--@use broken_row
--@use due_at
--@use wake_watcher

local row = redis.pcall('HMGET', job_key, 'attempts')
if row.err and is_broken(row) then
  return broken_row(id)
end
if not row[1] then
  return { 'gone' }
end
local due = due_at(mode, value)
if not redis.call('ZSCORE', schedule_key, id) then
  return { 'not_scheduled' }
end
local lying = wake_key and redis.call('LLEN', wake_key)

-- ZREM as the first write lets ZADD pass on a full server.
redis.call('ZREM', schedule_key, id)
redis.call('ZADD', schedule_key, due, id)
wake_watcher(schedule_key, wake_key, lying, id)
return { 'scheduled', string.format('%.0f', due) }
