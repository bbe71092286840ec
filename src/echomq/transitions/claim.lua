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
--@use need
--@use in_chunks
--@use look_lane
--@use no_fate
--@use send_off
--@use close_lanes

local lease = whole('lease_ms', lease_ms, 1)
local rows = base_key .. 'job:'
local walked, fate = {}, no_fate()
local from, width = 0, 1

local function leave_flat()
  -- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
  in_chunks('ZREM', pending_key, walked)
  if #fate.home > 0 then
    send_off(base_key, fate)
    close_lanes(base_key)
  end
end

while from < 1000 do
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
      fate.home[#fate.home + 1] = { id = id, group = group, lane = need(look_lane(base_key, group)) }
    elseif attempts then
      local made = counted(attempts)
      if not made then
        return redis.error_reply(miscounted(job_key, 'attempts'))
      end
      local token = made + 1
      redis.call('ZCARD', active_key)
      leave_flat()
      redis.call('HSET', job_key, 'attempts', token, 'state', 'active')
      redis.call('ZADD', active_key, now_ms() + lease, id)
      return { id, row[2], token }
    end
  end
  if #heads < width then
    break
  end
  from, width = from + width, math.min(width * 10, 1000 - from - width)
end
leave_flat()
return {}
