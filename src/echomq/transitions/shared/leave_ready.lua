-- leave_ready(base, id, group, lane): take a job out of its ready set; true when it was there.
--
-- `group` and `lane` are nil for an ungrouped job. ZREM is allowed on a full server. A lane that is empty leaves the
-- ring. A lane or a ring of another type is passed by.
local function leave_ready(base, id, group, lane)
  if not group then
    return redis.call('ZREM', base .. 'pending', id) == 1
  end
  if lane.closed or redis.call('ZREM', lane.key, id) == 0 then
    return false
  end
  if not lane.ringless and redis.call('ZCARD', lane.key) == 0 then
    redis.call('LREM', base .. 'ring', 0, group)
  end
  return true
end
