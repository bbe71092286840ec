-- schedule: admit one job that becomes ready at an instant (protocol 4.2).
--
-- keys   job        row of the job (hash)
--        schedule   jobs that wait for an instant (zset)
--        wake       wake-ups for parked workers (list); left out: none is left (ours)
-- args   id, payload
--        mode           in: value is ms from now   at: value is Unix ms
--        value
--        max_attempts   cap of the job's own; empty or left out: none (ours)
--        group          whose lane it goes to when it is due; empty or left out: the flat set (ours)
-- reply  1 scheduled   0 duplicate   EMQKIND the id is no job's   WRONGTYPE the row is no hash
--
-- The server's clock decides when a delay ends. An instant in the past is due at once. Parked workers wait no longer
-- than until the first instant that they know of, so a new first one wakes one of them.
--@use due_at
--@use wake_watcher
--@use admit

local due = due_at(mode, value)
local answer, fields, cap = may_admit(job_key, id, max_attempts)
if answer then
  return answer
end
local lying = wake_key and redis.call('LLEN', wake_key)

redis.call('ZADD', schedule_key, due, id)
admit(job_key, fields, 'scheduled', payload, cap, group ~= '' and group or nil)
wake_watcher(schedule_key, wake_key, lying, id)
return 1
