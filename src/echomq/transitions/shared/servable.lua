-- servable(lane): how many jobs of a lane could be served now: those that wait, as far as seats are free below its limit.
--
-- `lane` comes from look_lane and is judged as it stands at this moment. A count that is no number counts as 0.
local function servable(lane)
  if lane.parked then
    return 0
  elseif lane.limit then
    return math.max(math.min(lane.depth, lane.limit - (lane.act or 0)), 0)
  end
  return lane.depth
end
