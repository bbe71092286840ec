-- delay: the holder postpones a job, which keeps its attempts (protocol 4.8, remedied as in docs/wire.md).
--
-- keys   job        row of the job (hash)
--        active     leased jobs by lease end (zset)
--        schedule   jobs that wait for an instant (zset)
-- args   id
--        token     of the claim
--        mode      in: value is ms from now   at: value is Unix ms
--        value
--        unspent   1: this attempt does not count against the cap; empty or left out: it does (ours)
-- reply  1 delayed   EMQSTALE job gone   EMQSTALE the caller does not hold the job   EMQKIND
--        WRONGTYPE the row is no hash
--
-- The job leaves its lease as by complete, so its group gets its place back (W6).
--@use is_broken
--@use stale
--@use broken_row
--@use due_at
--@use base_of
--@use need
--@use counted
--@use miscounted
--@use look_lane
--@use look_ceiling
--@use refusal
--@use leave_active
--@use close_lanes

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND ' .. id .. ' does not begin with JOB')
end
local row = redis.pcall('HMGET', job_key, 'attempts', 'group', 'unspent')
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
local due = due_at(mode, value)
local base = base_of(job_key, id)
local lane = group and need(look_lane(base, group))
local handed_back = counted(row[3] or '0')
local trouble = unspent == '1' and not handed_back and miscounted(job_key, 'unspent') or look_ceiling(base, active_key)
if trouble then
  return refusal(trouble, active_key, base, id, lane)
end
redis.call('ZCARD', schedule_key)

-- leave_active writes only if it finds the job, so it is the last look and the first write at once.
if not leave_active(active_key, base, id, group, lane) then
  return stale()
end
if unspent == '1' then
  redis.call('HSET', job_key, 'state', 'scheduled', 'unspent', handed_back + 1)
else
  redis.call('HSET', job_key, 'state', 'scheduled')
end
redis.call('ZADD', schedule_key, due, id)
close_lanes(base)
return 1
