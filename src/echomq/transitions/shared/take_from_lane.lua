-- take_from_lane(lane, id): an id leaves a lane; true when it was there. close_lanes does the rest.
--
-- ZREM is allowed on a full server. A lane of another type is passed by.
local function take_from_lane(lane, id)
  if lane.closed or redis.call('ZREM', lane.key, id) == 0 then
    return false
  end
  lane.depth = lane.depth - 1
  lane.left = true
  return true
end
