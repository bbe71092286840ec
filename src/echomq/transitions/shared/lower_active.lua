-- lower_active(base, group, lane): one job of a group is in flight no more; its lane may be serviceable again.
--
-- The count never stays at 0 or below (protocol 2.3). The lane may be empty, so that is asked before the ring is
-- entered. Of a lane that is damaged only the count is lowered, when that is sound.
--@use enter_ring
local function lower_active(base, group, lane)
  if not lane.act then
    return
  end
  local act = redis.call('HINCRBY', base .. 'gactive', group, -1)
  if act <= 0 then
    redis.call('HDEL', base .. 'gactive', group)
    act = 0
  end
  lane.act = act
  if not lane.trouble and redis.call('ZCARD', lane.key) > 0 then
    enter_ring(base, group, lane)
  end
end
