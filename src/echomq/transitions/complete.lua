-- complete: the holder of a job reports that it is done (protocol 4.6, remedied as in docs/wire.md).
--
-- keys   active   leased jobs by lease end (zset)
--        job      row of the job (hash)
-- args   id
--        token           of the claim
--        base            the queue's base
--        result_ttl_ms   how long to keep the result; empty, 0 or left out: not (ours)
--        result          bytes for the flow parent and for row:result; empty or left out: the parent gets the id (ours)
-- reply  1 completed   0 gone   EMQSTALE the caller does not hold the job   WRONGTYPE the row is no hash
--
-- A right token is not enough: the job is leased, or ready again after a lapse and claimed by nobody since (W9). The
-- row, its subkeys (W39) and the lease go in one step; a flow parent is read here and told here (W3, W13).
--
-- Most jobs have neither a group nor a parent: the functions that only the others need are made behind their ending.
--@use is_broken
--@use stale
--@use broken_row
--@use whole
--@use now_ms
--@use look_counter
--@use look_ceiling
--@use refusal
--@use delete_job

local row = redis.pcall('HMGET', job_key, 'attempts', 'group', 'parent', 'parent_queue')
if row.err and is_broken(row) then
  return broken_row(id)
end
local attempts, group = row[1], row[2]
if not attempts then
  return 0
end
if attempts ~= token or token == '0' then
  return stale()
end
local keep_ms = 0
if result_ttl_ms and result_ttl_ms ~= '' then
  keep_ms = whole('result_ttl_ms', result_ttl_ms, 0)
end
local metrics_key = base .. 'metrics:completed'
local _, trouble = look_counter(metrics_key, 'count')
trouble = trouble or look_ceiling(base, active_key)

local function retire()
  delete_job(job_key)
  if keep_ms > 0 then
    local result_key = job_key .. ':result'
    redis.call('DEL', result_key)
    redis.call('HSET', result_key, 'result', result or '', 'attempts', attempts, 'completed_at', now_ms())
    redis.call('PEXPIRE', result_key, keep_ms)
  end
  redis.call('HINCRBY', metrics_key, 'count', 1)
end

if not group and not row[3] and not tally.room then
  if trouble then
    return refusal(trouble, active_key, base, id)
  end
  -- ZREM is the last look and the first write at once; it is allowed on a full server, and so is what follows it.
  if redis.call('ZREM', active_key, id) == 0 and redis.call('ZREM', base .. 'pending', id) == 0 then
    return stale()
  end
  retire()
  return 1
end

--@use need
--@use look_lane
--@use leave_active
--@use close_lanes

local lane = group and need(look_lane(base, group))
local parent, tell
if row[3] and not trouble then
--@use look_parent
--@use child_completed
  parent, trouble = look_parent(base, row[3], row[4])
  tell = function()
    child_completed(base, parent, id, result and result ~= '' and result or id)
  end
end
if trouble then
  return refusal(trouble, active_key, base, id, lane)
end
-- leave_active writes only if it finds the job, so it is the last look and the first write at once.
if not leave_active(active_key, base, id, group, lane) then
  return stale()
end
retire()
if parent then
  tell()
end
close_lanes(base)
return 1
