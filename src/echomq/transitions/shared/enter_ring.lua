-- enter_ring(base, group, lane): the ring entry rule R of protocol 0, for a lane that is known to be non-empty.
--
-- `lane` comes from look_lane. A group that stands on the ring is not put there twice; one that enters it wakes a
-- worker.
local function enter_ring(base, group, lane)
  if lane.parked or (lane.limit and lane.act >= lane.limit) then
    return
  end
  local ring_key, wake_key = base .. 'ring', base .. 'wake'
  if redis.call('LPOS', ring_key, group) then
    return
  end
  redis.call('RPUSH', ring_key, group)
  redis.call('LPUSH', wake_key, '1')
  redis.call('LTRIM', wake_key, 0, 63)
end
