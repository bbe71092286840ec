-- gclaim: lease the oldest job of the lane whose turn it is (protocol 4.16.2).
--
-- keys   ring     the rota (list)
--        active   leased jobs by lease end (zset)
--        meta     settings of the queue (hash); left out: the pause gate is the caller's
-- args   base, lease_ms
-- reply  [] no lane can be served   [id, payload or null, token, group]   ["paused"]
--
-- The head is looked at before anything is taken (W2), ids without a job are never written to (W4), the flag is read in
-- the same step (W33), and "empty" means that no lane can be served (W26).
--@use whole
--@use one_turn

local lease = whole('lease_ms', lease_ms, 1)
if meta_key and redis.call('HEXISTS', meta_key, 'paused') == 1 then
  return { 'paused' }
end
local jobs = one_turn(base, ring_key, active_key, lease, function()
  return 1
end)
return jobs[1] or {}
