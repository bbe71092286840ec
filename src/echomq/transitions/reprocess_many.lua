-- reprocess_many: make a slice of the dead jobs ready again (ours, docs/wire.md).
--
-- keys   dead   jobs without attempts left (zset)
--        base   the queue's base, itself no key
-- args   limit   how many ids to look at, 1 to 1000
--        after   the last id looked at by the call before; empty: from the start
--        fresh   1: their caps count anew; empty: they have the attempts they have left
-- reply  ["reprocessed", count, next]; next empty: the end was reached
--
-- Ids without a job are dropped. A broken row stays where it is, for somebody to look at, and so does a job whose lane or
-- attempts are damaged; going on from an id, and not from the start, is what passes it by.
--@use is_broken
--@use bounded
--@use counted
--@use look_lane
--@use revive
--@use after_id
--@use in_chunks
--@use close_lanes

local most = bounded('limit', limit, 100)
local rows = base_key .. 'job:'
local ids = redis.call('ZRANGE', dead_key, after_id(after), '+', 'BYLEX', 'LIMIT', 0, most)
local leaving, jobs = {}, {}
redis.call('ZCARD', base_key .. 'pending')
for place = 1, #ids do
  local id = ids[place]
  local row = redis.pcall('HMGET', rows .. id, 'attempts', 'group')
  local broken = row.err and is_broken(row)
  local attempts, group = row[1], row[2] or nil
  if attempts and counted(attempts) then
    local lane = group and look_lane(base_key, group)
    if not (lane and lane.trouble) then
      leaving[#leaving + 1] = id
      jobs[#jobs + 1] = { id = id, attempts = attempts, group = group, lane = lane }
    end
  elseif not broken and not attempts then
    leaving[#leaving + 1] = id
  end
end
in_chunks('ZREM', dead_key, leaving)
for _, job in ipairs(jobs) do
  revive(base_key, job.id, rows .. job.id, job.attempts, job.group, job.lane, fresh)
end
close_lanes(base_key)
return { 'reprocessed', #jobs, #ids == most and ids[most] or '' }
