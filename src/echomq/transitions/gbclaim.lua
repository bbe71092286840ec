-- gbclaim: lease all jobs of the lane whose turn it is, up to a cap (protocol 4.16.4).
--
-- keys   ring     the rota (list)
--        active   leased jobs by lease end (zset)
--        meta     settings of the queue (hash); left out: the pause gate is the caller's
-- args   base, lease_ms
--        cap   how many at most, 1 to 1000; empty or left out: 100
-- reply  [] no lane can be served   [[id, payload or null, token, group]...]   ["paused"]
--
-- As gclaim, on one deadline.
--@use whole
--@use bounded
--@use one_turn

local lease = whole('lease_ms', lease_ms, 1)
local most = bounded('cap', cap, 100)
if meta_key and redis.call('HEXISTS', meta_key, 'paused') == 1 then
  return { 'paused' }
end
return one_turn(base, ring_key, active_key, lease, function()
  return most
end)
