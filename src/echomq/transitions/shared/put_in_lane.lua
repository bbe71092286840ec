-- put_in_lane(lane, id): an id joins a lane; close_lanes does the rest.
local function put_in_lane(lane, id)
  lane.depth = lane.depth + redis.call('ZADD', lane.key, 0, id)
end
