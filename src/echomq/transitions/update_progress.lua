-- update_progress: write a job's progress and tell whoever listens (protocol 4.13, 5.1).
--
-- keys   job   row of the job (hash)
-- args   progress   text
--        id
--        base       the queue's base
--        token      of the claim; empty or left out: whoever asks may (ours)
-- reply  1 written   -1 gone   EMQSTALE the token is not the current one   WRONGTYPE the row is no hash
--
-- With a token a worker that lost its lease cannot overwrite the progress of the next attempt (W37).
--@use stale
--@use read_row
--@use token_refused
--@use as_utf8

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
redis.call('HSET', job_key, 'progress', progress)
local event = { event = 'progress', job = as_utf8(id), progress = as_utf8(progress) }
redis.call('PUBLISH', base .. 'events', cjson.encode(event))
return 1
