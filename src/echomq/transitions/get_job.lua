-- get_job: read a job's row (protocol 4.18.7).
--
-- keys   job   row of the job (hash)
-- args   none
-- reply  every field and value; empty: absent   WRONGTYPE the row is no hash
--
-- A row has some ten fields, so reading all of it is bounded.
--@use is_broken
--@use broken_row

local fields = redis.pcall('HGETALL', job_key)
if fields.err and is_broken(fields) then
  return broken_row(string.match(job_key, '.*job:(.*)$'))
end
return fields
