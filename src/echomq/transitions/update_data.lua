-- update_data: replace a job's payload (protocol 4.13).
--
-- keys   job   row of the job (hash)
-- args   payload
--        token   of the claim; empty or left out: whoever asks may (ours)
-- reply  1 written   -1 gone   EMQSTALE the token is not the current one   WRONGTYPE the row is no hash
--
-- With a token a worker that lost its lease cannot overwrite what the next attempt reads (W37).
--@use stale
--@use read_row
--@use token_refused

local row, broken = read_row(job_key, 'attempts')
if broken then
  return broken
end
local attempts = row[1]
if not attempts then
  return -1
end
if token_refused(attempts, token) then
  return stale()
end
redis.call('HSET', job_key, 'payload', payload)
return 1
