-- glimit: set the largest number of a group's jobs in flight, or take the limit away (protocol 4.16.8).
--
-- keys   glimit    limits of groups (hash)
--        gactive   jobs in flight of groups (hash)
--        ring      the rota (list)
--        paused    parked groups (set)
--        wake      wake-ups for parked workers (list)
-- args   base, group
--        most   1 to 999999999999999; empty: there is none (ours)
-- reply  1   WRONGTYPE a key of the lane is of another type
--
-- Jobs in flight above a lowered limit end in their own time. HDEL comes first, so that a full server can be set right
-- as well. Linear in the ring only when the lane leaves it.
--@use whole
--@use need
--@use look_lane
--@use close_lanes

local limit
if most ~= '' then
  limit = whole('most', most, 1, 999999999999999)
end
local lane = need(look_lane(base, group))
redis.call('HDEL', glimit_key, group)
if limit then
  redis.call('HSET', glimit_key, group, string.format('%.0f', limit))
end
lane.limit = limit
close_lanes(base)
return 1
