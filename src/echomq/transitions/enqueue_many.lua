-- enqueue_many: admit many jobs that are ready to run, all in one step (ours, docs/wire.md).
--
-- keys   pending   ready jobs of the flat set (zset)
--        base      the queue's base, itself no key
-- args   id, payload, max_attempts, group; repeated, at most 1000 times. Empty: no cap of its own, the flat set
-- reply  for each, in order: 1 enqueued   0 duplicate. EMQKIND one id is no job's, nothing written
--        WRONGTYPE the row of one id is no hash, or its lane is damaged, nothing written
--
-- Each as enqueue or genqueue. The sets are written first, which a full server refuses: then nothing is written.
--@use admit
--@use need
--@use look_lane
--@use look_wake
--@use fill_lane
--@use in_chunks
--@use tally
--@use close_lanes

local call, pcall, sub = redis.call, redis.pcall, string.sub
local count = (#ARGV - more_args_at + 1) / more_args_width
if count > 1000 then
  return redis.error_reply('ERR enqueue_many takes at most 1000 jobs')
end
local rows = base_key .. 'job:'
local answers, ready, fresh, skeletons, seen = {}, {}, {}, {}, {}
local groups, named = {}, {}
for at = more_args_at + 3, #ARGV, 4 do
  local group = ARGV[at]
  if group ~= '' and not named[group] then
    named[group], groups[#groups + 1] = true, group
  end
end
look_ahead(base_key, groups)
local keys = {}
for place = 1, count do
  keys[place] = rows .. ARGV[more_args_at + (place - 1) * 4]
end
-- Nearly always all of them are new, and one question tells it.
local are_new = count > 0 and call('EXISTS', unpack(keys)) == 0
for place = 1, count do
  local at = more_args_at + (place - 1) * 4
  local id, group = ARGV[at], ARGV[at + 3]
  if sub(id, 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND ' .. id .. ' is no job id')
  end
  if ARGV[at + 2] ~= '' then
    whole('max_attempts', ARGV[at + 2], 1, 999999999999999)
  end
  local job_key = keys[place]
  local fields = are_new and 0 or pcall('HLEN', job_key)
  if type(fields) == 'table' and is_broken(fields) then
    return broken_row(id)
  end
  if seen[id] or (fields > 0 and call('HEXISTS', job_key, 'attempts') == 1) then
    answers[place] = 0
  else
    answers[place], seen[id] = 1, true
    fresh[#fresh + 1] = place
    if fields > 0 then
      skeletons[#skeletons + 1] = job_key
    end
    if group == '' then
      local used = #ready
      ready[used + 1], ready[used + 2] = 0, id
    else
      local lane = need(look_lane(base_key, group))
      lane.joining = lane.joining or {}
      lane.joining[#lane.joining + 1] = id
    end
  end
end
if #ready > 0 then
  call('ZCARD', pending_key)
  need(look_wake(base_key))
end

in_chunks('ZADD', pending_key, ready)
tally.flat = #ready / 2
for _, lane in ipairs(looked) do
  if lane.joining then
    fill_lane(lane, lane.joining)
  end
end
for _, job_key in ipairs(skeletons) do
  call('DEL', job_key)
end
for _, place in ipairs(fresh) do
  local at = more_args_at + (place - 1) * 4
  local cap, group = ARGV[at + 2], ARGV[at + 3]
  admit(keys[place], 0, 'pending', ARGV[at + 1], cap ~= '' and cap or nil, group ~= '' and group or nil)
end
close_lanes(base_key)
return answers
