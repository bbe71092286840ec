-- remove: delete a job from wherever it is (protocol 4.14, remedied as in docs/wire.md).
--
-- keys   job        row of the job (hash)
--        pending    ready jobs of the flat set (zset)
--        active     leased jobs by lease end (zset)
--        schedule   jobs that wait for an instant (zset)
--        dead       jobs without attempts left (zset)
--        dedup      where a producer parked the id (string)
-- args   id
--        did   dedup id, or empty
-- reply  1 removed   -1 gone   EMQLOCK a worker holds the job
--
-- A grouped job leaves its lane or its place in flight too (W7). A field lock without a TTL is the mark of a crashed
-- worker or of an old server, so it counts only while the lease runs (W36). A broken row and a skeleton are cleared
-- away, and of a group that is damaged what is sound.
--@use is_broken
--@use base_of
--@use look_lane
--@use fly
--@use leave_ready
--@use now_ms
--@use delete_job
--@use look_ceiling
--@use close_lanes

local call, pcall = redis.call, redis.pcall
local result_key = job_key .. ':result'
local row = pcall('HMGET', job_key, 'group', 'lock')
local broken = row.err and is_broken(row)
local leased_until = call('ZSCORE', active_key, id)
local parked
if did ~= '' then
  parked = call('GET', dedup_key) == id
end
local present = call('EXISTS', job_key, result_key) > 0

local function locked()
  if call('EXISTS', job_key .. ':lock') == 1 then
    return true
  end
  if broken or not row[2] then
    return false
  end
  -- Servers without TTLs of fields answer with an error.
  local left = pcall('HPTTL', job_key, 'FIELDS', 1, 'lock')
  if not left.err and left[1] and left[1] > 0 then
    return true
  end
  return leased_until and tonumber(leased_until) > now_ms()
end

if call('EXISTS', job_key) == 1 and locked() then
  return redis.error_reply('EMQLOCK a worker holds ' .. id)
end
local base = base_of(job_key, id)
local group = not broken and row[1] or nil
local lane
if group then
  lane = look_lane(base, group)
end
look_ceiling(base, active_key)
call('ZCARD', pending_key)
call('ZCARD', schedule_key)
call('ZCARD', dead_key)

-- An id without a job leaves the sets as well; ZREM comes first, which a full server allows.
call('ZREM', active_key, id)
call('ZREM', pending_key, id)
call('ZREM', schedule_key, id)
call('ZREM', dead_key, id)
if leased_until then
  tally.ended = 1
end
if lane then
  leave_ready(base, id, group, lane)
  if leased_until then
    fly(base, lane, -1)
  end
end
close_lanes(base)
if not present then
  return -1
end
if parked then
  call('DEL', dedup_key)
end
delete_job(job_key)
call('DEL', result_key)
return 1
