-- look_ceiling(base, active_key): how much room the queue's ceiling leaves before leases end ("The ceiling" in
-- docs/wire.md).
--
-- With a ceiling, the leases that a body counts in `tally.ended` are seats that somebody may wait for, and close_lanes
-- leaves wake-ups for them. Returns an error text when these could not be written. A `concurrency` that is no plain
-- decimal of at least 1 is no ceiling, and neither is one that cannot be read.
--@use counted
--@use probe
--@use look_wake
--@use tally
local function look_ceiling(base, active_key)
  local text = probe('HGET', base .. 'meta', 'concurrency')
  local most = text and counted(text)
  if not most or most < 1 then
    return nil
  end
  tally.room = most - redis.call('ZCARD', active_key)
  local _, trouble = look_wake(base)
  return trouble
end
