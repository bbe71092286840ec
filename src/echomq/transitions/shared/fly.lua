-- fly(base, lane, n): n more jobs of a lane are in flight, or fewer; close_lanes writes the count, once for a lane.
--
-- The count never stays below 0 (protocol 2.3). One that is no number is left as it is.
local function fly(_, lane, n)
  if lane.act then
    lane.act = math.max(lane.act + n, 0)
    lane.flown = true
  end
end
