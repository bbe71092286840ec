-- complete_many: many holders' completions in one step, each judged on its own (ours, docs/wire.md).
--
-- keys   active   leased jobs by lease end (zset)
--        base     the queue's base, itself no key
-- args   id, token, result_ttl_ms, result; repeated, at most 1000 times
-- reply  for each, in order: "completed"   "gone"   "stale"   "broken" the row, its lane or its parent is damaged
--
-- Each answer and effect is that of complete. Everything is read and judged first, so an error has changed nothing, and
-- what is damaged stops its own job only; a counter that is damaged is not raised. An id that comes twice is gone the
-- second time. Deleting is gathered: 140 jobs have 980 keys.
--@use is_broken
--@use whole
--@use now_ms
--@use look_counter
--@use look_lane
--@use look_parent
--@use look_ceiling
--@use fly
--@use leave_ready
--@use in_chunks
--@use child_completed
--@use close_lanes

local call, pcall = redis.call, redis.pcall
local base, count = base_key, (#ARGV - more_args_at + 1) / more_args_width
if count > 1000 then
  return redis.error_reply('ERR complete_many takes at most 1000 jobs')
end
local metrics_key, rows = base .. 'metrics:completed', base .. 'job:'
local _, uncounted = look_counter(metrics_key, 'count')
call('ZCARD', base .. 'pending')
look_ceiling(base, active_key)

local answers, seen, ends, leases, doomed, special = {}, {}, {}, {}, {}, {}
local completed = 0
for place = 1, count do
  ends[place] = ARGV[more_args_at + (place - 1) * 4]
end
local scores = {}
for first = 1, count, 500 do
  local slice = call('ZMSCORE', active_key, unpack(ends, first, math.min(first + 499, count)))
  for place = 1, #slice do
    scores[first + place - 1] = slice[place]
  end
end

local read, groups, named = {}, {}, {}
for place = 1, count do
  local row = pcall('HMGET', rows .. ends[place], 'attempts', 'group', 'parent', 'parent_queue')
  local group = row[2]
  read[place] = row
  if group and not named[group] then
    named[group], groups[#groups + 1] = true, group
  end
end
look_ahead(base, groups)

for place = 1, count do
  local at = more_args_at + (place - 1) * 4
  local id, token, ttl = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local keep_ms = 0
  if ttl ~= '' then
    keep_ms = whole('result_ttl_ms', ttl, 0)
  end
  local key = rows .. id
  local row = read[place]
  local attempts, group, leased = row[1], row[2], scores[place]
  local lane
  if row.err and is_broken(row) then
    answers[place] = 'broken'
  elseif not attempts or seen[id] then
    answers[place] = 'gone'
  elseif attempts ~= token or token == '0' then
    answers[place] = 'stale'
  else
    local trouble, parent
    if group then
      lane, trouble = look_lane(base, group)
    end
    if trouble then
      answers[place] = 'broken'
    elseif not leased and not call('ZSCORE', lane and lane.key or base .. 'pending', id) then
      answers[place] = 'stale'
    else
      if row[3] then
        parent, trouble = look_parent(base, row[3], row[4])
      end
      if trouble then
        answers[place] = 'broken'
      else
        answers[place], seen[id] = 'completed', true
        completed = completed + 1
        local used = #doomed
        doomed[used + 1], doomed[used + 2], doomed[used + 3] = key, key .. ':logs', key .. ':lock'
        doomed[used + 4], doomed[used + 5] = key .. ':dependencies', key .. ':processed'
        doomed[used + 6], doomed[used + 7] = key .. ':failed', key .. ':unsuccessful'
        if leased then
          leases[#leases + 1] = id
        end
        -- Most jobs are leased, of no group and of no parent: deleting is all that these need.
        if group or row[3] or keep_ms > 0 or not leased then
          special[#special + 1] = {
            id = id, attempts = attempts, group = group or nil, lane = lane or nil, leased = leased,
            parent = parent, keep_ms = keep_ms, result = ARGV[at + 3],
          }
        end
      end
    end
  end
end
if completed == 0 then
  return answers
end

-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well. A batch of
-- late completions has no lease to take away, and DEL is allowed there too.
in_chunks('ZREM', active_key, leases)
for first = 1, #doomed, 980 do
  call('DEL', unpack(doomed, first, math.min(first + 979, #doomed)))
end
local now = now_ms()
for _, job in ipairs(special) do
  if not job.leased then
    leave_ready(base, job.id, job.group, job.lane)
  elseif job.group then
    fly(base, job.lane, -1)
  end
end
for _, job in ipairs(special) do
  if job.parent then
    child_completed(base, job.parent, job.id, job.result ~= '' and job.result or job.id)
  end
  if job.keep_ms > 0 then
    local result_key = rows .. job.id .. ':result'
    call('DEL', result_key)
    call('HSET', result_key, 'result', job.result, 'attempts', job.attempts, 'completed_at', now)
    call('PEXPIRE', result_key, job.keep_ms)
  end
end
if not uncounted then
  call('HINCRBY', metrics_key, 'count', completed)
end
tally.ended = #leases
close_lanes(base)
return answers
