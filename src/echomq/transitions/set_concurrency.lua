-- set_concurrency: set the ceiling of the queue's jobs in flight, or take it away (ours, docs/wire.md).
--
-- keys   meta   settings of the queue (hash)
--        base   the queue's base, itself no key
-- args   most   1 to 999999999999999; empty: there is none
-- reply  1
--
-- Jobs in flight above a lowered ceiling end in their own time. Workers that parked before a raised one are woken, as
-- many as jobs are known to be servable and seats are free; in a paused queue that is for resume to do. HDEL comes
-- first, so that a full server can be set right as well.
--@use whole
--@use look_servable
--@use leave_tokens

local ceiling
if most ~= '' then
  ceiling = whole('most', most, 1, 999999999999999)
end
local waiting = 0
if redis.call('HEXISTS', meta_key, 'paused') == 0 then
  waiting = look_servable(base_key, ceiling)
end
redis.call('HDEL', meta_key, 'concurrency')
if ceiling then
  redis.call('HSET', meta_key, 'concurrency', string.format('%.0f', ceiling))
end
leave_tokens(base_key, 0, waiting)
return 1
