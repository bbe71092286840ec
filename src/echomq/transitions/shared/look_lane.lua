-- look_lane(base, group): what the bookkeeping of a group needs, read once and checked before the first write.
--
-- Returns a table, the same one for the same group throughout a script: `key` of the lane, `act` in flight (kept up to
-- date by whoever changes it), `limit` or nil, `parked`. Raises WRONGTYPE or ERR when one of the six keys that a lane
-- is made of could not be written, so that a body which got here cannot fail half way.
--@use look_counter
local lanes = {}

local function look_lane(base, group)
  local lane = lanes[group]
  if lane then
    return lane
  end
  lane = {
    key = base .. 'g:' .. group .. ':pending',
    act = look_counter(base .. 'gactive', group),
    limit = redis.call('HGET', base .. 'glimit', group),
    parked = redis.call('SISMEMBER', base .. 'paused', group) == 1,
  }
  if lane.limit then
    -- A limit that is no number limits nothing; comparing with it would end the script between two writes.
    lane.limit = tonumber(lane.limit)
  end
  redis.call('ZCARD', lane.key)
  redis.call('LLEN', base .. 'ring')
  redis.call('LLEN', base .. 'wake')
  lanes[group] = lane
  return lane
end
