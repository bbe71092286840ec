-- tally: what the moves of a script add up to for close_lanes, which leaves the wake-ups (docs/wire.md, rule 12).
--
-- `flat`: jobs that were made ready in the flat set. `ended`: leases that ended. `room`: set by look_ceiling when the
-- queue has a ceiling: how much it left before; below 0 when more are in flight.
local tally = { flat = 0, ended = 0 }
