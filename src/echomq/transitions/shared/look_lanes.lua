-- look_lanes(base, groups): read for many groups at once what look_lane reads for one.
--
-- Returns a view of them, from which meet_lane(base, view, place) makes the lane of one when its turn comes.
--
-- For claims, which go along the ring: each hash or set is asked once for all these groups, and what few queues have is
-- asked nothing when none of it exists. At most 1000 groups. A lane met is what look_lane knows from then on, and has
-- besides
--   name, weight   the group as replies tell it, and how many jobs one turn serves, 1 to 1000
--   owes           whether its next place is a fresh job's, as `fresh_next` says
--   live           whether `lanes` says so, so that lanes which other speakers filled are entered there
-- and what `serve_heads` and the claims keep in it, so that the table is made once in its size.
--@use counted
--@use miscounted
--@use probe
--@use look_lane
--@use look_wake
--@use servable
local are_set

local function look_lanes(base, groups)
  if are_set == nil then
    are_set = redis.call('EXISTS', base .. 'glimit', base .. 'gweight', base .. 'paused', base .. 'fresh_next') > 0
  end
  local view = { groups = groups, weights = {}, owing = {} }
  local acts, no_counts = probe('HMGET', base .. 'gactive', unpack(groups))
  local live, no_lives = probe('ZMSCORE', base .. 'lanes', unpack(groups))
  local _, no_wake = look_wake(base)
  local limits, no_limits, parked, no_parking
  if are_set then
    limits, no_limits = probe('HMGET', base .. 'glimit', unpack(groups))
    parked, no_parking = probe('SMISMEMBER', base .. 'paused', unpack(groups))
    view.weights = probe('HMGET', base .. 'gweight', unpack(groups)) or {}
    view.owing = probe('SMISMEMBER', base .. 'fresh_next', unpack(groups)) or {}
  end
  no_registry = no_lives
  view.acts, view.live, view.limits, view.parked = acts or {}, live or {}, limits or {}, parked or {}
  view.no_counts, view.trouble = no_counts, no_counts or no_limits or no_parking
  view.late_trouble = no_wake or no_lives
  return view
end

local function lane_of_view(base, view, place)
  local group = view.groups[place]
  local key = base .. 'g:' .. group .. ':pending'
  local depth, no_lane = probe('ZCARD', key)
  local act, limit, weight = view.acts[place], view.limits[place], view.weights[place]
  act = not view.no_counts and counted(act or '0') or nil
  local trouble = view.trouble or no_lane or view.late_trouble
  if not act and not view.no_counts then
    trouble = miscounted(base .. 'gactive', group)
  end
  depth = depth or 0
  return {
    group = group,
    key = key,
    act = act,
    depth = depth,
    limit = limit and counted(limit) or nil,
    parked = view.parked[place] == 1,
    stands = false,
    live = view.live[place] and true or false,
    could = 0,
    flown = false,
    closed = no_lane ~= nil,
    ringless = false,
    trouble = trouble,
    name = group,
    weight = weight and math.min(math.max(counted(weight) or 1, 1), 1000) or 1,
    owes = view.owing[place] == 1,
    owed = view.owing[place] == 1,
    met = false,
    served = 0,
    size = depth,
    old = 1,
    width = 1,
    ids = {},
  }
end

local function meet_lane(base, view, place)
  local group = view.groups[place]
  local lane = lane_of[group]
  if not lane then
    lane = lane_of_view(base, view, place)
    lane.could = servable(lane)
    lane_of[group] = lane
    if not lane.trouble then
      looked[#looked + 1] = lane
    end
  end
  return lane
end
