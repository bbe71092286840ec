-- fill_lane(lane, ids): many ids join a lane, as by put_in_lane.
--
-- Lua hands a call at most some 8000 values (W41), so a long list is cut.
local function fill_lane(lane, ids)
  for first = 1, #ids, 500 do
    local pairs_of = {}
    for place = first, math.min(first + 499, #ids) do
      pairs_of[#pairs_of + 1], pairs_of[#pairs_of + 2] = 0, ids[place]
    end
    lane.depth = lane.depth + redis.call('ZADD', lane.key, unpack(pairs_of))
  end
end
