-- serviceable(lane): whether a lane may be served: not empty, not parked, below its limit (docs/wire.md, rule 10).
--@use servable
local function serviceable(lane)
  return servable(lane) > 0
end
