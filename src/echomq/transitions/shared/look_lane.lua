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
--   could        how many of its jobs could be served when it was looked at
-- `looked` has the lanes in the order of their first looks. When one of the keys that a lane is made of could not be
-- written, `trouble` is the error text, which is the second value as well; then only remove and reap touch what is
-- sound: `act` is nil, `closed` or `ringless` is set when the counter, the lane or the ring is not.
--
-- look_ahead(base, groups): for batches, which know their groups beforehand: what the lanes share hashes for is read for
-- all of them at once, at most 1000.
--
-- Every settling of a lane's job comes through here. So the keys are read in one guarded call, and one by one only when
-- that fails; those that all lanes share are read with the first.
--@use counted
--@use probe
--@use look_counter
--@use look_wake
--@use servable
local looked, lane_of = {}, {}
local no_ring, no_registry
local ahead

local function read_lane(base, group, key)
  local call = redis.call
  if #looked == 0 then
    call('LLEN', base .. 'ring')
    call('ZCARD', base .. 'lanes')
  end
  local place = ahead and ahead.place_of[group]
  if place then
    return ahead.acts[place], ahead.limits[place], ahead.parked[place], call('ZCARD', key)
  end
  return call('HGET', base .. 'gactive', group), call('HGET', base .. 'glimit', group),
    call('SISMEMBER', base .. 'paused', group), call('ZCARD', key)
end

local function look_ahead(base, groups)
  local acts = #groups > 1 and redis.pcall('HMGET', base .. 'gactive', unpack(groups))
  if not acts then
    return
  end
  local limits = redis.pcall('HMGET', base .. 'glimit', unpack(groups))
  local parked = redis.pcall('SMISMEMBER', base .. 'paused', unpack(groups))
  -- What could not be read is found out lane by lane.
  if not (acts.err or limits.err or parked.err) then
    local place_of = {}
    for place = 1, #groups do
      place_of[groups[place]] = place
    end
    ahead = { acts = acts, limits = limits, parked = parked, place_of = place_of }
  end
end

local function look_lane(base, group)
  local lane = lane_of[group]
  if lane then
    return lane, lane.trouble
  end
  local key = base .. 'g:' .. group .. ':pending'
  local sound, act, limit, parked, depth = pcall(read_lane, base, group, key)
  local no_lane, trouble
  if sound then
    act = not act and 0 or counted(act)
  end
  if not sound or not act or no_ring or no_registry or not look_wake(base) then
    -- One of the keys is damaged: which, and what can be read of the others.
    local no_count, no_limits, no_parking, no_wake, _
    act, no_count = look_counter(base .. 'gactive', group)
    limit, no_limits = probe('HGET', base .. 'glimit', group)
    parked, no_parking = probe('SISMEMBER', base .. 'paused', group)
    depth, no_lane = probe('ZCARD', key)
    _, no_ring = probe('LLEN', base .. 'ring')
    _, no_registry = probe('ZCARD', base .. 'lanes')
    _, no_wake = look_wake(base)
    trouble = no_count or no_limits or no_parking or no_lane or no_ring or no_wake or no_registry
  end
  lane = {
    group = group,
    key = key,
    act = act,
    depth = depth or 0,
    limit = limit and counted(limit) or nil,
    parked = parked == 1,
    stands = false,
    live = depth and depth > 0 or act and act > 0 or false,
    could = 0,
    closed = no_lane ~= nil,
    ringless = no_ring ~= nil,
    trouble = trouble,
  }
  lane.could = servable(lane)
  lane.stands = lane.could > 0
  lane_of[group], looked[#looked + 1] = lane, lane
  return lane, trouble
end
