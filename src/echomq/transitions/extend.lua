-- extend: move a leased job's lease forward, if the caller still holds it (protocol 4.12).
--
-- keys   active   leased jobs by lease end (zset)
--        job      row of the job (hash)
-- args   id, token (of the claim)
--        lease_ms   from now
-- reply  1 extended   -1 gone   EMQSTALE the caller does not hold the job   WRONGTYPE the row is no hash
--
-- It never creates a lease: a job that was reaped or scheduled would stand in two places (W5). It asks for the token,
-- not for the time: an overdue lease that nobody took is still the holder's.
--@use is_broken
--@use stale
--@use broken_row
--@use whole
--@use now_ms

local lease = whole('lease_ms', lease_ms, 1)
local row = redis.pcall('HMGET', job_key, 'attempts')
if row.err and is_broken(row) then
  return broken_row(id)
end
if not row[1] then
  return -1
end
if row[1] ~= token or token == '0' then
  return stale()
end
-- ZREM tells whether the job is leased, and as first write it lets ZADD pass on a full server: no lease is lost there.
if redis.call('ZREM', active_key, id) == 0 then
  return stale()
end
redis.call('ZADD', active_key, now_ms() + lease, id)
return 1
