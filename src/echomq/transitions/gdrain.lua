-- gdrain: delete a slice of the jobs that wait in a lane, oldest first (protocol 4.16.10, bounded as in docs/wire.md).
--
-- keys   base   the queue's base, itself no key
--        lane   ready jobs of the group (zset)
--        ring   the rota (list)
-- args   group
--        limit   how many at most, 1 to 1000; empty or left out: 1000
-- reply  how many were deleted; equal to limit: call again   WRONGTYPE a key of the lane is of another type
--
-- What is in flight, the lane's settings and other lanes are untouched (W44).
--@use bounded
--@use need
--@use look_lane
--@use in_chunks
--@use delete_job
--@use close_lanes

local most = bounded('limit', limit, 1000)
local lane = need(look_lane(base_key, group))
local rows = base_key .. 'job:'
local ids = redis.call('ZRANGE', lane_key, 0, most - 1)
in_chunks('ZREM', lane_key, ids)
lane.depth = lane.depth - #ids
for place = 1, #ids do
  delete_job(rows .. ids[place])
end
close_lanes(base_key)
return #ids
