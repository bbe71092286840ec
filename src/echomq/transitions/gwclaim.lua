-- gwclaim: lease as many jobs of the lane whose turn it is as its weight says (protocol 4.16.3).
--
-- keys   ring     the rota (list)
--        active   leased jobs by lease end (zset)
--        meta     settings of the queue (hash); left out: the pause gate is the caller's
-- args   base, lease_ms
-- reply  [] no lane can be served   [[id, payload or null, token, group]...]   ["paused"]
--
-- As gclaim, on one deadline. At most 1000 jobs, however great a weight is.
--@use whole
--@use one_turn

local lease = whole('lease_ms', lease_ms, 1)
if meta_key and redis.call('HEXISTS', meta_key, 'paused') == 1 then
  return { 'paused' }
end
return one_turn(base, ring_key, active_key, lease, function(lane)
  return lane.weight
end)
