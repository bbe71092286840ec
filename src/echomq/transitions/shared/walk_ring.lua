-- walk_ring(base, ring_key, window, width) and step(walk): go along the first `window` entries of the ring, as planned.
--
-- Entries and what their lanes need are read for many at once: `width` of them first, then twice as many each time.
-- `walk.passed` counts the entries that were stepped over; whoever leaves an entry where it stands counts it back.
--@use look_lanes
local function walk_ring(base, ring_key, window, width)
  return { base = base, key = ring_key, window = window, width = width, passed = 0, from = 1, upto = 0 }
end

local function step(walk)
  local passed = walk.passed
  if passed == walk.window then
    return nil
  elseif passed == walk.upto then
    walk.from, walk.upto = passed + 1, math.min(passed + walk.width, walk.window)
    walk.view = look_lanes(walk.base, redis.call('LRANGE', walk.key, passed, walk.upto - 1))
    walk.width = walk.width * 2
  end
  walk.passed = passed + 1
  return meet_lane(walk.base, walk.view, passed + 2 - walk.from)
end
