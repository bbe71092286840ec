-- look_parent(base, parent, queue): what telling a flow parent needs, read and checked before the first write.
--
-- Returns nil when there is nobody to tell: a row that is gone, a skeleton or broken is no parent and is not written to
-- (W22). Else a table, the same one for the same parent throughout a script. A parent in another queue is `id`,
-- `queue`. One in this queue is `id`, `key`, its `group` and `lane`, and `parent`, `queue_of_parent`, `policy` towards
-- a parent of its own. Raises WRONGTYPE or ERR when a key that may be written could not be.
--@use look_lane
--@use own_queue
local parents = {}

local function look_parent(base, parent, queue)
  if queue and queue ~= own_queue(base) then
    redis.call('LLEN', base .. 'flow:outbox')
    return { id = parent, queue = queue }
  end
  if parents[parent] ~= nil then
    return parents[parent] or nil
  end
  local key = base .. 'job:' .. parent
  local row = redis.pcall('HMGET', key, 'attempts', 'group', 'parent', 'parent_queue', 'parent_policy')
  if row.err or not row[1] then
    parents[parent] = false
    return nil
  end
  redis.call('HLEN', key .. ':processed')
  redis.call('HLEN', key .. ':failed')
  redis.call('HLEN', key .. ':unsuccessful')
  local left = redis.call('GET', key .. ':dependencies')
  if left and left ~= '0' and not string.find(left, '^%-?[1-9]%d*$') then
    error({ err = 'ERR ' .. key .. ':dependencies is not a whole number' })
  end
  redis.call('ZCARD', base .. 'pending')
  redis.call('ZCARD', base .. 'dead')
  redis.call('LLEN', base .. 'flow:outbox')
  local found = {
    id = parent,
    key = key,
    group = row[2] or nil,
    lane = row[2] and look_lane(base, row[2]) or nil,
    parent = row[3],
    queue_of_parent = row[4],
    policy = row[5] == 'id' and 'id' or 'fp',
  }
  parents[parent] = found
  return found
end
