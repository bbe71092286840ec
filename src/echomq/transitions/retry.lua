-- retry: the holder of a job reports that the attempt failed (protocol 4.7, remedied as in docs/wire.md).
--
-- keys   active     leased jobs by lease end (zset)
--        schedule   jobs that wait for an instant (zset)
--        dead       jobs without attempts left (zset)
--        job        row of the job (hash)
-- args   id
--        token          of the claim
--        delay_ms       when to try again, from now
--        max_attempts   cap of attempts spent, unless the row has one; 0: dead at once
--        reason         text of the error
--        base           the queue's base
-- reply  scheduled   dead   EMQSTALE job gone   EMQSTALE the caller does not hold the job
--        WRONGTYPE the row is no hash
--
-- Claims that were handed back unspent do not count against the cap. A repeated last retry is stale, so a death is
-- counted once (W10). A flow parent is read here and told here, in the script that kills the child (W13, W15).
--
-- Most jobs have neither a group nor a parent: the functions that only the others need are made behind their ending.
--@use is_broken
--@use stale
--@use broken_row
--@use whole
--@use now_ms
--@use attempts_spent
--@use look_counter
--@use look_ceiling
--@use refusal

local row = redis.pcall('HMGET', job_key, 'attempts', 'group', 'parent', 'parent_queue', 'parent_policy',
  'max_attempts', 'unspent')
if row.err and is_broken(row) then
  return broken_row(id)
end
local attempts, group = row[1], row[2]
if not attempts then
  return redis.error_reply('EMQSTALE job gone')
end
if attempts ~= token or token == '0' then
  return stale()
end
local delay = whole('delay_ms', delay_ms, 0)
local cap = whole('max_attempts', max_attempts, 0)
local now = now_ms()

local dies, trouble, _ = cap == 0, nil, nil
if not dies then
  dies, trouble = attempts_spent(job_key, attempts, row[7], row[6], cap)
end
if dies then
  redis.call('ZCARD', dead_key)
  _, trouble = look_counter(base .. 'metrics:failed', 'count')
elseif not trouble then
  redis.call('ZCARD', schedule_key)
end
trouble = trouble or look_ceiling(base, active_key)

local function move()
  if dies then
    redis.call('HSET', job_key, 'last_error', reason, 'state', 'dead', 'died_at', now)
    redis.call('ZADD', dead_key, 0, id)
    redis.call('HINCRBY', base .. 'metrics:failed', 'count', 1)
    return 'dead'
  end
  redis.call('HSET', job_key, 'last_error', reason, 'state', 'scheduled')
  redis.call('ZADD', schedule_key, now + delay, id)
  return 'scheduled'
end

if not group and not (dies and row[3]) and not tally.room then
  if trouble then
    return refusal(trouble, active_key, base, id)
  end
  -- ZREM is the last look and the first write at once; it is allowed on a full server, and so is what follows it.
  if redis.call('ZREM', active_key, id) == 0 and redis.call('ZREM', base .. 'pending', id) == 0 then
    return stale()
  end
  return move()
end

--@use need
--@use look_lane
--@use leave_active
--@use close_lanes

local lane = group and need(look_lane(base, group))
local parent, tell
if dies and row[3] and not trouble then
--@use look_parent
--@use child_died
  parent, trouble = look_parent(base, row[3], row[4])
  tell = function()
    child_died(base, parent, id, row[5] == 'id' and 'id' or 'fp', reason, now)
  end
end
if trouble then
  return refusal(trouble, active_key, base, id, lane)
end
-- leave_active writes only if it finds the job, so it is the last look and the first write at once.
if not leave_active(active_key, base, id, group, lane) then
  return stale()
end
local answer = move()
if parent then
  tell()
end
close_lanes(base)
return answer
