-- look_lane(base, group): what the bookkeeping of a group needs, read once and checked before the first write.
--
-- Returns a table, the same one for the same group throughout a script:
--   group, key   its name, and the key of its set
--   act          how many jobs are in flight; `fly` changes it
--   depth        how many ids wait; put_in_lane and take_from_lane change it
--   limit        or nil; a limit that is no number limits nothing
--   parked       whether it stands in `paused`
--   stands       whether it is on the ring: by rule 10, whether it was serviceable when it was looked at
--   live         whether it is in `lanes`: by rule 11, whether jobs waited or were in flight then
--   arrived      how many jobs joined it
-- `looked` has the lanes in the order of their first looks. When one of the keys that a lane is made of could not be
-- written, `trouble` is the error text, which is the second value as well; then only remove and reap touch what is
-- sound: `act` is nil, `closed` or `ringless` is set when the counter, the lane or the ring is not.
--@use counted
--@use probe
--@use look_counter
--@use look_wake
--@use serviceable
local looked, lane_of = {}, {}
local no_ring, no_registry

local function look_lane(base, group)
  local lane = lane_of[group]
  if lane then
    return lane, lane.trouble
  end
  local _
  if #looked == 0 then
    _, no_ring = probe('LLEN', base .. 'ring')
    _, no_registry = probe('ZCARD', base .. 'lanes')
  end
  local _, no_wake = look_wake(base)
  local key = base .. 'g:' .. group .. ':pending'
  local act, no_count = look_counter(base .. 'gactive', group)
  local limit, no_limits = probe('HGET', base .. 'glimit', group)
  local parked, no_parking = probe('SISMEMBER', base .. 'paused', group)
  local depth, no_lane = probe('ZCARD', key)
  lane = {
    group = group,
    key = key,
    act = act,
    depth = depth or 0,
    limit = limit and counted(limit) or nil,
    parked = parked == 1,
    arrived = 0,
    closed = no_lane ~= nil,
    ringless = no_ring ~= nil,
    trouble = no_count or no_limits or no_parking or no_lane or no_ring or no_wake or no_registry,
  }
  lane.stands = serviceable(lane)
  lane.live = lane.depth > 0 or (act or 0) > 0
  lane_of[group], looked[#looked + 1] = lane, lane
  return lane, lane.trouble
end
