-- claim: lease the oldest ready job of the flat set (protocol 4.4, three-key edition).
--
-- keys   pending   ready jobs of the flat set (zset)
--        active    leased jobs by lease end (zset)
--        base      the queue's base, itself no key
-- args   lease_ms
-- reply  [] nothing is ready   [id, payload or null, token]   WRONGTYPE the oldest row is no hash, nothing consumed
--
-- The head is looked at before anything is taken (W2). Ids without a job are passed over and dropped, so that "empty"
-- means empty (W26); they are never written to (W4). A job with a group goes home to its lane, where its limit and its
-- count hold (W8). Windows grow, since all of these are rare and one head is the rule.
--@use is_broken
--@use whole
--@use now_ms
--@use broken_row
--@use counted
--@use miscounted
--@use in_chunks

local lease = whole('lease_ms', lease_ms, 1)
local rows = base_key .. 'job:'
local walked, misplaced, served = {}, {}, nil
local from, width = 0, 1

while from < 1000 and not served do
  local heads = redis.call('ZRANGE', pending_key, from, from + width - 1)
  for place = 1, #heads do
    local id = heads[place]
    local job_key = rows .. id
    local row = redis.pcall('HMGET', job_key, 'attempts', 'payload', 'group')
    if row.err and is_broken(row) then
      return broken_row(id)
    end
    local attempts, group = row[1], row[3]
    walked[#walked + 1] = id
    if attempts and group then
      misplaced[#misplaced + 1] = { id = id, key = job_key, group = group }
    elseif attempts then
      local made = counted(attempts)
      if not made then
        return redis.error_reply(miscounted(job_key, 'attempts'))
      end
      served = { id, row[2], made + 1 }
      break
    end
  end
  if #heads < width then
    break
  end
  from, width = from + width, math.min(width * 10, 1000 - from - width)
end
redis.call('ZCARD', active_key)

-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
local function lease_it()
  if not served then
    return {}
  end
  redis.call('HSET', rows .. served[1], 'attempts', served[3], 'state', 'active')
  redis.call('ZADD', active_key, now_ms() + lease, served[1])
  return served
end

if #misplaced == 0 then
  in_chunks('ZREM', pending_key, walked)
  return lease_it()
end

--@use need
--@use look_lane
--@use make_ready
--@use close_lanes
for place = 1, #misplaced do
  misplaced[place].lane = need(look_lane(base_key, misplaced[place].group))
end
in_chunks('ZREM', pending_key, walked)
for place = 1, #misplaced do
  local job = misplaced[place]
  make_ready(base_key, job.id, job.key, job.group, job.lane)
end
close_lanes(base_key)
return lease_it()
