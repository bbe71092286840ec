-- resume: claimers may take jobs from this queue again (protocol 4.18.2).
--
-- keys   meta   settings of the queue (hash)
--        base   the queue's base, itself no key; left out: nobody is woken (ours)
-- args   none
-- reply  1
--
-- Nothing is moved, and a queue that was not paused stays as it is. Workers that parked meanwhile are woken, as many as
-- jobs are known to be servable and the ceiling allows.
--@use counted
--@use look_servable
--@use leave_tokens

if not base_key then
  redis.call('HDEL', meta_key, 'paused')
  return 1
end
local settings = redis.call('HMGET', meta_key, 'paused', 'concurrency')
if not settings[1] then
  return 1
end
local most = settings[2] and counted(settings[2])
local waiting = look_servable(base_key, most and most >= 1 and most or nil)
redis.call('HDEL', meta_key, 'paused')
leave_tokens(base_key, 0, waiting)
return 1
