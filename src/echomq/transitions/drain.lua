-- drain: delete a slice of the waiting jobs, oldest first (protocol 4.18.3, bounded as in docs/wire.md).
--
-- keys   base       the queue's base, itself no key
--        pending    ready jobs of the flat set (zset)
--        schedule   jobs that wait for an instant (zset); left out: they stay
-- args   limit   how many at most, 1 to 1000; empty or left out: 1000
-- reply  how many were deleted; equal to limit: call again
--
-- Leased and dead jobs, lanes and repeats are untouched. A slice blocks the server briefly, the whole would not (W44).
--@use bounded
--@use in_chunks
--@use delete_job

local most = bounded('limit', limit, 1000)
local rows = base_key .. 'job:'
local waiting = redis.call('ZRANGE', pending_key, 0, most - 1)
local scheduled = {}
if schedule_key then
  redis.call('ZCARD', schedule_key)
end
if schedule_key and #waiting < most then
  scheduled = redis.call('ZRANGE', schedule_key, 0, most - #waiting - 1)
end
in_chunks('ZREM', pending_key, waiting)
if #scheduled > 0 then
  in_chunks('ZREM', schedule_key, scheduled)
end
for place = 1, #waiting do
  delete_job(rows .. waiting[place])
end
for place = 1, #scheduled do
  delete_job(rows .. scheduled[place])
end
return #waiting + #scheduled
