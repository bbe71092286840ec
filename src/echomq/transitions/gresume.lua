-- gresume: a parked group is served again (protocol 4.16.7).
--
-- keys   paused    parked groups (set)
--        ring      the rota (list)
--        glimit    limits of groups (hash)
--        gactive   jobs in flight of groups (hash)
--        wake      wake-ups for parked workers (list)
-- args   base, group
-- reply  1   WRONGTYPE a key of the lane is of another type
--
-- A group that was not parked stays as it is.
--@use need
--@use look_lane
--@use close_lanes

local lane = need(look_lane(base, group))
if lane.parked then
  redis.call('SREM', paused_key, group)
  lane.parked = false
  close_lanes(base)
end
return 1
