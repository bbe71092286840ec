-- serviceable(lane): whether a lane may be served: not empty, not parked, below its limit (docs/wire.md, rule 10).
--
-- `lane` comes from look_lane and is judged as it stands at this moment. A count that is no number counts as 0.
local function serviceable(lane)
  return lane.depth > 0 and not lane.parked and not (lane.limit and (lane.act or 0) >= lane.limit)
end
