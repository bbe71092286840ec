-- look_parent(base, parent, queue): what telling a flow parent needs, read and checked before the first write.
--
-- Returns nil when there is nobody to tell: a row that is gone, a skeleton or broken is no parent and is not written to
-- (W22). Else a table, the same one for the same parent throughout a script. A parent in another queue is `id`,
-- `queue`. One in this queue is `id`, `key`, its `group` and `lane`, and `parent`, `queue_of_parent`, `policy` towards
-- a parent of its own. When a key that may be written could not be, the second value is the error text.
--@use is_broken
--@use counted
--@use probe
--@use look_lane
--@use own_queue
local parents = {}

local function trouble_of(base, parent)
  local key = parent.key
  for _, suffix in ipairs({ ':processed', ':failed', ':unsuccessful' }) do
    local _, trouble = probe('HLEN', key .. suffix)
    if trouble then
      return trouble
    end
  end
  local left, no_text = probe('GET', key .. ':dependencies')
  if left and not counted(left) then
    return 'ERR ' .. key .. ':dependencies is not a whole number'
  end
  local _, no_pending = probe('ZCARD', base .. 'pending')
  local _, no_dead = probe('ZCARD', base .. 'dead')
  local _, no_outbox = probe('LLEN', base .. 'flow:outbox')
  return no_text or no_pending or no_dead or no_outbox or (parent.lane and parent.lane.trouble)
end

local function look_parent(base, parent, queue)
  if queue and queue ~= own_queue(base) then
    local _, trouble = probe('LLEN', base .. 'flow:outbox')
    return { id = parent, queue = queue }, trouble
  end
  local found = parents[parent]
  if found == nil then
    local key = base .. 'job:' .. parent
    local row = redis.pcall('HMGET', key, 'attempts', 'group', 'parent', 'parent_queue', 'parent_policy')
    local broken = row.err and is_broken(row)
    found = not broken and row[1] and {
      id = parent,
      key = key,
      group = row[2] or nil,
      lane = row[2] and look_lane(base, row[2]) or nil,
      parent = row[3],
      queue_of_parent = row[4],
      policy = row[5] == 'id' and 'id' or 'fp',
    } or false
    if found then
      found.trouble = trouble_of(base, found)
    end
    parents[parent] = found
  end
  return found or nil, found and found.trouble or nil
end
