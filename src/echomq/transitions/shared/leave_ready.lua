-- leave_ready(base, id, group, lane): take a job out of its ready set; true when it was there.
--
-- `group` and `lane` are nil for an ungrouped job. ZREM is allowed on a full server. A lane of another type is passed
-- by.
--@use take_from_lane
local function leave_ready(base, id, group, lane)
  if group then
    return take_from_lane(lane, id)
  end
  return redis.call('ZREM', base .. 'pending', id) == 1
end
