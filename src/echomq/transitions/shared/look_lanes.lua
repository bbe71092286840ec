-- look_lanes(base, groups): read for many groups at once what look_lane reads for one; then meet_lane(base, view, place).
--
-- For claims, which go along the ring: a hash or set that does not exist is asked nothing, and each other one once for
-- all these groups. At most 1100 groups. A lane met is what look_lane knows from then on, and has besides
--   name, weight   the group as replies tell it, and how many jobs one turn serves
--   owes           whether its next place is a fresh job's, as `fresh_next` says
--   live           whether `lanes` says so, so that lanes which other speakers filled are entered there
--@use counted
--@use miscounted
--@use probe
--@use look_lane
--@use look_wake
local sizes

local function look_sizes(base)
  local _
  sizes = {}
  sizes.act, sizes.no_count = probe('HLEN', base .. 'gactive')
  sizes.limits, sizes.no_limits = probe('HLEN', base .. 'glimit')
  sizes.parked, sizes.no_parking = probe('SCARD', base .. 'paused')
  sizes.weights = probe('HLEN', base .. 'gweight')
  sizes.owing = probe('SCARD', base .. 'fresh_next')
  sizes.live, no_registry = probe('ZCARD', base .. 'lanes')
  _, sizes.no_wake = look_wake(base)
end

local function look_lanes(base, groups)
  if not sizes then
    look_sizes(base)
  end
  local call, nothing = redis.call, {}
  local function is_kept(size)
    return (size or 0) > 0
  end
  return {
    groups = groups,
    act = is_kept(sizes.act) and call('HMGET', base .. 'gactive', unpack(groups)) or nothing,
    limits = is_kept(sizes.limits) and call('HMGET', base .. 'glimit', unpack(groups)) or nothing,
    weights = is_kept(sizes.weights) and call('HMGET', base .. 'gweight', unpack(groups)) or nothing,
    parked = is_kept(sizes.parked) and call('SMISMEMBER', base .. 'paused', unpack(groups)) or nothing,
    owing = is_kept(sizes.owing) and call('SMISMEMBER', base .. 'fresh_next', unpack(groups)) or nothing,
    live = is_kept(sizes.live) and call('ZMSCORE', base .. 'lanes', unpack(groups)) or nothing,
  }
end

local function lane_of_view(base, view, place)
  local group = view.groups[place]
  local key = base .. 'g:' .. group .. ':pending'
  local depth, no_lane = probe('ZCARD', key)
  local act = counted(view.act[place] or '0')
  local no_count = sizes.no_count or (not act and miscounted(base .. 'gactive', group)) or nil
  local limit = view.limits[place]
  return {
    group = group,
    key = key,
    act = not no_count and act or nil,
    depth = depth or 0,
    limit = limit and counted(limit) or nil,
    parked = view.parked[place] == 1,
    arrived = 0,
    closed = no_lane ~= nil,
    ringless = false,
    trouble = no_count or sizes.no_limits or sizes.no_parking or no_lane or sizes.no_wake or no_registry,
    live = view.live[place] and true or false,
  }
end

local function meet_lane(base, view, place)
  local group = view.groups[place]
  local lane = lane_of[group]
  if not lane then
    lane = lane_of_view(base, view, place)
    lane_of[group] = lane
    if not lane.trouble then
      looked[#looked + 1] = lane
    end
  end
  local weight = view.weights[place]
  lane.name = group
  lane.weight = math.max(weight and counted(weight) or 1, 1)
  lane.owes = view.owing[place] == 1
  return lane
end
