-- reap: take back jobs whose lease lapsed (protocol 4.10, remedied as in docs/wire.md).
--
-- keys   active    leased jobs by lease end (zset)
--        pending   ready jobs of the flat set (zset)
-- args   base
--        limit          how many at most, 1 to 1000; empty or left out: 100 (ours)
--        max_attempts   cap of attempts spent for rows without one; empty or left out: none (ours)
--        naming         ids: name the jobs in the reply; empty or left out: count them (ours)
-- reply  how many left active. With ids: ["reaped", count, [recovered], [dead], [ghosts]]
--
-- Only what has no attempt left dies: a job that kills its workers ends at its cap (W20). Ids without a job are dropped
-- and not written to (W4). Ids with a broken row go to dead, and so does a job whose numbers, lane or parent are damaged;
-- its group's count is lowered all the same, when that is sound. Everything is looked at before anything is written.
--@use is_broken
--@use bounded
--@use now_ms
--@use attempts_spent
--@use look_counter
--@use look_lane
--@use look_parent
--@use lower_active
--@use make_ready
--@use child_died
--@use set_aside
--@use in_chunks

local call, pcall = redis.call, redis.pcall
local most = bounded('limit', limit, 100)
local cap_of_all
if max_attempts and max_attempts ~= '' then
  cap_of_all = whole('max_attempts', max_attempts, 0)
end
local now, rows = now_ms(), base .. 'job:'
local lapsed = call('ZRANGE', active_key, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
local jobs, recovered, dead, ghosts = {}, {}, {}, {}
local to_flat = false
local metrics_key, dead_key = base .. 'metrics:failed', base .. 'dead'

for place = 1, #lapsed do
  local id = lapsed[place]
  local row = pcall('HMGET', rows .. id, 'attempts', 'group', 'max_attempts', 'unspent', 'parent', 'parent_queue',
    'parent_policy')
  local attempts, group = row[1], row[2] or nil
  if row.err and is_broken(row) then
    dead[#dead + 1] = id
  elseif not attempts then
    ghosts[#ghosts + 1] = id
  else
    local job = { id = id, group = group }
    local spent, trouble = attempts_spent(rows .. id, attempts, row[4], row[3], cap_of_all)
    if group then
      local damage
      job.lane, damage = look_lane(base, group)
      trouble = trouble or damage
    end
    if spent and not trouble and row[5] then
      job.parent, trouble = look_parent(base, row[5], row[6])
    end
    if trouble or spent then
      job.trouble, job.attempts, job.policy = trouble, attempts, row[7] == 'id' and 'id' or 'fp'
      dead[#dead + 1] = id
    else
      recovered[#recovered + 1] = id
      to_flat = to_flat or not group
    end
    jobs[#jobs + 1] = job
  end
end
if to_flat then
  call('ZCARD', pending_key)
end
local uncounted
if #dead > 0 then
  call('ZCARD', dead_key)
  uncounted = select(2, look_counter(metrics_key, 'count'))
end

-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
in_chunks('ZREM', active_key, lapsed)
for place = 1, #dead do
  call('ZADD', dead_key, 0, dead[place])
end
for place = 1, #jobs do
  local job = jobs[place]
  local id, job_key = job.id, rows .. job.id
  if job.group then
    lower_active(base, job.group, job.lane)
  end
  if job.trouble then
    set_aside(job_key, job.trouble, now)
  elseif job.attempts then
    local reason = 'lease lapsed on attempt ' .. job.attempts .. ', and no attempt is left'
    call('HSET', job_key, 'last_error', reason, 'state', 'dead', 'died_at', now)
    if not uncounted then
      call('HINCRBY', metrics_key, 'count', 1)
    end
    if job.parent then
      child_died(base, job.parent, id, job.policy, reason, now)
    end
  else
    make_ready(base, id, job_key, job.group, job.lane)
  end
end
if naming == 'ids' then
  return { 'reaped', #lapsed, recovered, dead, ghosts }
end
return #lapsed
