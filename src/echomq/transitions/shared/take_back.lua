-- take_back(base, active_key, most, cap_of_all, only): jobs whose lease lapsed become ready again, or die at their cap.
--
-- Looks at the first `most` lapsed ids; with `only`, a group, the others stay where they are. Returns how many left
-- active, and the ids that are ready, that went to dead, and that are ghosts (docs/wire.md, reap).
--
-- Only what has no attempt left dies: a job that kills its workers ends at its cap (W20). Ids without a job are dropped
-- and not written to (W4). Ids with a broken row go to dead, and so does a job whose numbers, lane or parent are damaged;
-- its group's count is lowered all the same, when that is sound. Everything is looked at before anything is written.
--@use is_broken
--@use now_ms
--@use attempts_spent
--@use look_counter
--@use look_lane
--@use look_parent
--@use look_ceiling
--@use fly
--@use make_ready
--@use child_died
--@use set_aside
--@use in_chunks
--@use close_lanes
local function judge_lapsed(base, id, row, cap_of_all)
  local job_key, group = base .. 'job:' .. id, row[2] or nil
  local job = { id = id, key = job_key, group = group }
  local spent, trouble = attempts_spent(job_key, row[1], row[4], row[3], cap_of_all)
  if group then
    local damage
    job.lane, damage = look_lane(base, group)
    trouble = trouble or damage
  end
  if spent and not trouble and row[5] then
    job.parent, trouble = look_parent(base, row[5], row[6])
  end
  job.trouble, job.attempts, job.policy = trouble, row[1], row[7] == 'id' and 'id' or 'fp'
  job.dies = trouble ~= nil or spent
  return job
end

local function bury(base, job, now, counts)
  local reason = 'lease lapsed on attempt ' .. job.attempts .. ', and no attempt is left'
  redis.call('HSET', job.key, 'last_error', reason, 'state', 'dead', 'died_at', now)
  if counts then
    redis.call('HINCRBY', base .. 'metrics:failed', 'count', 1)
  end
  if job.parent then
    child_died(base, job.parent, job.id, job.policy, reason, now)
  end
end

local function take_back(base, active_key, most, cap_of_all, only)
  local now, rows, dead_key = now_ms(), base .. 'job:', base .. 'dead'
  local lapsed = redis.call('ZRANGE', active_key, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
  local leaving, jobs, recovered, dead, ghosts = {}, {}, {}, {}, {}
  local to_flat = false
  for place = 1, #lapsed do
    local id = lapsed[place]
    local row = redis.pcall('HMGET', rows .. id, 'attempts', 'group', 'max_attempts', 'unspent', 'parent',
      'parent_queue', 'parent_policy')
    local broken = row.err and is_broken(row)
    if not only or (row[1] and row[2] == only) then
      leaving[#leaving + 1] = id
      if broken then
        dead[#dead + 1] = id
      elseif not row[1] then
        ghosts[#ghosts + 1] = id
      else
        local job = judge_lapsed(base, id, row, cap_of_all)
        jobs[#jobs + 1] = job
        if job.dies then
          dead[#dead + 1] = id
        else
          recovered[#recovered + 1] = id
          to_flat = to_flat or not job.group
        end
      end
    end
  end
  if to_flat then
    redis.call('ZCARD', base .. 'pending')
  end
  local uncounted
  if #dead > 0 then
    redis.call('ZCARD', dead_key)
    uncounted = select(2, look_counter(base .. 'metrics:failed', 'count'))
  end
  look_ceiling(base, active_key)

  -- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
  in_chunks('ZREM', active_key, leaving)
  for place = 1, #dead do
    redis.call('ZADD', dead_key, 0, dead[place])
  end
  for place = 1, #jobs do
    local job = jobs[place]
    if job.group then
      fly(base, job.lane, -1)
    end
    if job.trouble then
      set_aside(job.key, job.trouble, now)
    elseif job.dies then
      bury(base, job, now, not uncounted)
    else
      make_ready(base, job.id, job.key, job.group, job.lane)
    end
  end
  tally.ended = #leaving
  close_lanes(base)
  return #leaving, recovered, dead, ghosts
end
