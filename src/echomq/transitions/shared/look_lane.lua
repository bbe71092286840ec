-- look_lane(base, group): what the bookkeeping of a group needs, read once and checked before the first write.
--
-- Returns a table, the same one for the same group throughout a script: `key` of the lane, `act` in flight (kept up to
-- date by whoever changes it), `limit` or nil, `parked`. When one of the six keys that a lane is made of could not be
-- written, `trouble` is the error text, which is the second value as well; then only remove and reap touch what is
-- sound: `act` is nil, `closed` or `ringless` is set when the counter, the lane or the ring is not.
--@use counted
--@use probe
--@use look_counter
local lanes = {}

local function look_lane(base, group)
  local lane = lanes[group]
  if not lane then
    local key = base .. 'g:' .. group .. ':pending'
    local act, no_count = look_counter(base .. 'gactive', group)
    local limit, no_limits = probe('HGET', base .. 'glimit', group)
    local parked, no_parking = probe('SISMEMBER', base .. 'paused', group)
    local _, no_lane = probe('ZCARD', key)
    local _, no_ring = probe('LLEN', base .. 'ring')
    local _, no_wake = probe('LLEN', base .. 'wake')
    lane = {
      key = key,
      act = act,
      -- A limit that is no number limits nothing.
      limit = limit and counted(limit) or nil,
      parked = parked == 1,
      closed = no_lane ~= nil,
      ringless = no_ring ~= nil,
      trouble = no_count or no_limits or no_parking or no_lane or no_ring or no_wake,
    }
    lanes[group] = lane
  end
  return lane, lane.trouble
end
