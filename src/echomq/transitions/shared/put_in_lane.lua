-- put_in_lane(lane, id): an id joins a lane; close_lanes does the rest. An id that stood there as a ghost is a job now.
local function put_in_lane(lane, id)
  lane.depth = lane.depth + redis.call('ZADD', lane.key, 0, id)
  lane.arrived = lane.arrived + 1
end
