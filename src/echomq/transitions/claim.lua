-- claim: lease the oldest ready job of the flat set (protocol 4.4, three-key edition).
--
-- keys   pending   ready jobs of the flat set (zset)
--        active    leased jobs by lease end (zset)
--        base      the queue's base, itself no key
-- args   lease_ms
-- reply  [] nothing is ready   [id, payload or null, token]   WRONGTYPE the oldest row is no hash, nothing consumed
--
-- The head is looked at before anything is taken (W2). Ids without a job are passed over and dropped, so that "empty"
-- means empty (W26); they are never written to (W4). Windows grow, since a ghost is rare and one head is the rule.
--@use is_broken
--@use whole
--@use now_ms
--@use broken_row
--@use counted
--@use miscounted
--@use in_chunks

local lease = whole('lease_ms', lease_ms, 1)
local rows = base_key .. 'job:'
local walked = {}
local from, width = 0, 1

while from < 1000 do
  local heads = redis.call('ZRANGE', pending_key, from, from + width - 1)
  for place = 1, #heads do
    local id = heads[place]
    local job_key = rows .. id
    local row = redis.pcall('HMGET', job_key, 'attempts', 'payload')
    if row.err and is_broken(row) then
      return broken_row(id)
    end
    local attempts = row[1]
    if attempts then
      local made = counted(attempts)
      if not made then
        return redis.error_reply(miscounted(job_key, 'attempts'))
      end
      local token = made + 1
      redis.call('ZCARD', active_key)
      walked[#walked + 1] = id
      -- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
      if #walked == 1 then
        redis.call('ZREM', pending_key, id)
      else
        in_chunks('ZREM', pending_key, walked)
      end
      redis.call('HSET', job_key, 'attempts', token, 'state', 'active')
      redis.call('ZADD', active_key, now_ms() + lease, id)
      return { id, row[2], token }
    end
    walked[#walked + 1] = id
  end
  if #heads < width then
    break
  end
  from, width = from + width, math.min(width * 10, 1000 - from - width)
end
in_chunks('ZREM', pending_key, walked)
return {}
