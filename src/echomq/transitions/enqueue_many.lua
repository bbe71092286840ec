-- enqueue_many: admit many jobs that are ready to run, all in one step (ours, docs/wire.md).
--
-- keys   pending   ready jobs of the flat set (zset)
--        base      the queue's base, itself no key
-- args   id, payload, max_attempts (empty: none); repeated, at most 1000 times
-- reply  for each, in order: 1 enqueued   0 duplicate. EMQKIND one id is no job's, nothing written
--        WRONGTYPE the row of one id is no hash, nothing written
--
-- Each as enqueue. The set is written first, which a full server refuses: then nothing is written.
--@use is_broken
--@use broken_row
--@use whole
--@use in_chunks

local call, pcall, sub = redis.call, redis.pcall, string.sub
local count = (#ARGV - more_args_at + 1) / more_args_width
if count > 1000 then
  return redis.error_reply('ERR enqueue_many takes at most 1000 jobs')
end
local rows = base_key .. 'job:'
local answers, ready, fresh, skeletons, seen = {}, {}, {}, {}, {}
for place = 1, count do
  local at = more_args_at + (place - 1) * 3
  local id = ARGV[at]
  if sub(id, 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND ' .. id .. ' is no job id')
  end
  if ARGV[at + 2] ~= '' then
    whole('max_attempts', ARGV[at + 2], 1, 999999999999999)
  end
  local job_key = rows .. id
  local fields = pcall('HLEN', job_key)
  if type(fields) == 'table' and is_broken(fields) then
    return broken_row(id)
  end
  if seen[id] or (fields > 0 and call('HEXISTS', job_key, 'attempts') == 1) then
    answers[place] = 0
  else
    answers[place], seen[id] = 1, true
    local used = #ready
    ready[used + 1], ready[used + 2] = 0, id
    fresh[#fresh + 1] = at
    if fields > 0 then
      skeletons[#skeletons + 1] = job_key
    end
  end
end

in_chunks('ZADD', pending_key, ready)
for _, job_key in ipairs(skeletons) do
  call('DEL', job_key)
end
for _, at in ipairs(fresh) do
  local job_key, cap = rows .. ARGV[at], ARGV[at + 2]
  if cap == '' then
    call('HSET', job_key, 'state', 'pending', 'attempts', '0', 'payload', ARGV[at + 1])
  else
    call('HSET', job_key, 'state', 'pending', 'attempts', '0', 'payload', ARGV[at + 1], 'max_attempts', cap)
  end
end
return answers
