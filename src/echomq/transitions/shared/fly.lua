-- fly(base, lane, n): n more jobs of a lane are in flight, or fewer; close_lanes writes the count, once for a lane.
--
-- The count never stays at 0 or below (protocol 2.3), and what another program made less than that is raised from
-- there, as HINCRBY does. One that is no number is left as it is.
local function fly(_, lane, n)
  if lane.act then
    lane.act = n > 0 and lane.act + n or math.max(lane.act + n, 0)
    lane.flown = true
  end
end
