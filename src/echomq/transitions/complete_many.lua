-- complete_many: many holders' completions in one step, each judged on its own (ours, docs/wire.md).
--
-- keys   active   leased jobs by lease end (zset)
--        base     the queue's base, itself no key
-- args   id, token, result_ttl_ms, result; repeated, at most 1000 times
-- reply  for each, in order: "completed"   "gone"   "stale"   "broken" the row is no hash
--
-- Each answer and effect is that of complete. Everything is read and judged first, so an error has changed nothing; an id
-- that comes twice is gone the second time. Deleting is gathered: 140 jobs have 980 keys.
--@use whole
--@use now_ms
--@use look_counter
--@use look_lane
--@use look_parent
--@use lower_active
--@use leave_ready
--@use in_chunks
--@use child_completed

local call, pcall = redis.call, redis.pcall
local base, count = base_key, (#ARGV - more_args_at + 1) / more_args_width
if count > 1000 or count % 1 ~= 0 then
  return redis.error_reply('ERR complete_many takes four values for each of at most 1000 jobs')
end
local metrics_key, rows = base .. 'metrics:completed', base .. 'job:'
look_counter(metrics_key, 'count')
call('ZCARD', active_key)
call('ZCARD', base .. 'pending')

local answers, jobs, seen = {}, {}, {}
for place = 1, count do
  local at = more_args_at + (place - 1) * 4
  local id, token, ttl = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local keep_ms = 0
  if ttl ~= '' then
    keep_ms = whole('result_ttl_ms', ttl, 0)
  end
  local row = pcall('HMGET', rows .. id, 'attempts', 'group', 'parent', 'parent_queue')
  local attempts, group = row[1], row[2] or nil
  if row.err then
    answers[place] = 'broken'
  elseif not attempts or seen[id] then
    answers[place] = 'gone'
  elseif attempts ~= token or token == '0' then
    answers[place] = 'stale'
  else
    local leased = call('ZSCORE', active_key, id)
    local lane = group and look_lane(base, group)
    if leased or call('ZSCORE', lane and lane.key or base .. 'pending', id) then
      answers[place], seen[id] = 'completed', true
      local parent = row[3] and look_parent(base, row[3], row[4]) or nil
      jobs[#jobs + 1] = {
        id = id, attempts = attempts, group = group, lane = lane, leased = leased, parent = parent,
        keep_ms = keep_ms, result = ARGV[at + 3],
      }
    else
      answers[place] = 'stale'
    end
  end
end
if #jobs == 0 then
  return answers
end

-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
local leases, doomed = {}, {}
for _, job in ipairs(jobs) do
  if job.leased then
    leases[#leases + 1] = job.id
  end
end
in_chunks('ZREM', active_key, leases)
for _, job in ipairs(jobs) do
  local key, at = rows .. job.id, #doomed
  doomed[at + 1], doomed[at + 2], doomed[at + 3] = key, key .. ':logs', key .. ':lock'
  doomed[at + 4], doomed[at + 5] = key .. ':dependencies', key .. ':processed'
  doomed[at + 6], doomed[at + 7] = key .. ':failed', key .. ':unsuccessful'
  if at >= 973 then
    call('DEL', unpack(doomed))
    doomed = {}
  end
  if not job.leased then
    leave_ready(base, job.id, job.group, job.lane)
  elseif job.group then
    lower_active(base, job.group, job.lane)
  end
end
if #doomed > 0 then
  call('DEL', unpack(doomed))
end
local now = now_ms()
for _, job in ipairs(jobs) do
  -- A parent that this same batch completed is there no more, and must not come back as a skeleton (W22).
  if job.parent and not (seen[job.parent.id] and not job.parent.queue) then
    child_completed(base, job.parent, job.id, job.result ~= '' and job.result or job.id)
  end
  if job.keep_ms > 0 then
    local result_key = rows .. job.id .. ':result'
    call('DEL', result_key)
    call('HSET', result_key, 'result', job.result, 'attempts', job.attempts, 'completed_at', now)
    call('PEXPIRE', result_key, job.keep_ms)
  end
end
call('HINCRBY', metrics_key, 'count', #jobs)
return answers
