-- child_died(base, parent, id, policy, reason, now): tell a flow parent that a child is dead, once (protocol 4.7,
-- 4.17).
--
-- `parent` comes from look_parent, `policy` is the child's. The failure of a parent goes up one hop in the script that
-- kills it, and only when that script does: a second announcement, or one for a living parent, cannot happen (W10,
-- W15).
--@use own_queue
--@use leave_ready
--@use child_settled
local function failure_entry(queue, parent, child, policy, reason)
  return table.concat({ '', 'fail', queue, parent, child, policy, reason }, '\0')
end

local function child_died(base, parent, id, policy, reason, now)
  local outbox_key = base .. 'flow:outbox'
  if parent.queue then
    redis.call('RPUSH', outbox_key, failure_entry(parent.queue, parent.id, id, policy, reason))
    return
  end
  if policy == 'id' then
    if redis.call('HSETNX', parent.key .. ':unsuccessful', id, reason) == 1 then
      child_settled(base, parent)
    end
    return
  end
  if redis.call('HSETNX', parent.key .. ':failed', id, reason) == 0 then
    return
  end
  -- Read at this moment, since a batch may have moved the parent itself.
  local state = redis.call('HGET', parent.key, 'state')
  if state ~= 'awaiting_children' and state ~= 'pending' then
    return
  end
  -- Other speakers release a parent with a group into the flat set, so that one is left as well (W8).
  redis.call('ZREM', base .. 'pending', parent.id)
  if parent.group then
    leave_ready(base, parent.id, parent.group, parent.lane)
  end
  redis.call('HSET', parent.key, 'state', 'dead', 'died_at', now)
  redis.call('ZADD', base .. 'dead', 0, parent.id)
  if parent.parent then
    local queue = parent.queue_of_parent or own_queue(base)
    redis.call('RPUSH', outbox_key, failure_entry(queue, parent.parent, parent.id, parent.policy, reason))
  end
end
