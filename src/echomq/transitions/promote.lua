-- promote: make due jobs ready (protocol 4.9, remedied as in docs/wire.md).
--
-- keys   schedule   jobs that wait for an instant (zset)
--        pending    ready jobs of the flat set (zset)
-- args   base
--        limit   how many at most, 1 to 1000; empty or left out: 100
-- reply  how many ids left schedule; equal to limit: call again
--
-- Each job goes to its own place. Ids without a job are dropped and not written to (W4). Ids with a broken row go to
-- dead, and so does a job whose lane is damaged. Everything is looked at before anything is written.
--@use is_broken
--@use bounded
--@use now_ms
--@use look_lane
--@use fill_lane
--@use set_aside
--@use in_chunks
--@use tally
--@use close_lanes

local call, pcall = redis.call, redis.pcall
local most = bounded('limit', limit, 100)
local rows = base .. 'job:'
local now = now_ms()
local due = call('ZRANGE', schedule_key, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
if #due == 0 then
  return 0
end

local read, groups, named = {}, {}, {}
for place = 1, #due do
  local row = pcall('HMGET', rows .. due[place], 'attempts', 'group')
  local group = row[1] and row[2]
  read[place] = row
  if group and not named[group] then
    named[group], groups[#groups + 1] = true, group
  end
end
look_ahead(base, groups)

local ready, flat, broken, damaged = {}, {}, {}, {}
for place = 1, #due do
  local id, row = due[place], read[place]
  local job_key = rows .. id
  if row.err and is_broken(row) then
    broken[#broken + 1] = id
  elseif row[1] and row[2] then
    local lane, trouble = look_lane(base, row[2])
    if trouble then
      broken[#broken + 1], damaged[#damaged + 1] = id, { key = job_key, trouble = trouble }
    else
      ready[#ready + 1] = job_key
      lane.joining = lane.joining or {}
      lane.joining[#lane.joining + 1] = id
    end
  elseif row[1] then
    ready[#ready + 1] = job_key
    local used = #flat
    flat[used + 1], flat[used + 2] = 0, id
  end
end
if #flat > 0 then
  call('ZCARD', pending_key)
end
if #broken > 0 then
  call('ZCARD', base .. 'dead')
end

-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
in_chunks('ZREM', schedule_key, due)
in_chunks('ZADD', pending_key, flat)
tally.flat = #flat / 2
for _, lane in ipairs(looked) do
  if lane.joining then
    fill_lane(lane, lane.joining)
  end
end
for place = 1, #ready do
  call('HSET', ready[place], 'state', 'pending')
end
for _, id in ipairs(broken) do
  call('ZADD', base .. 'dead', 0, id)
end
for _, job in ipairs(damaged) do
  set_aside(job.key, job.trouble, now)
end
close_lanes(base)
return #due
