-- update_progress: write a job's progress and tell whoever listens (protocol 4.13, 5.1).
--
-- keys   job   row of the job (hash)
-- args   progress   text, at most 4096 bytes
--        id
--        base       the queue's base
--        token      of the claim; empty or left out: whoever asks may (ours)
-- reply  1 written   -1 gone   EMQSTALE the token is not the current one   WRONGTYPE the row is no hash
--
-- With a token a worker that lost its lease cannot overwrite the progress of the next attempt (W37). The event is made
-- first; one that this user may not publish is lost, since the progress is written by then.
--@use stale
--@use read_row
--@use token_refused
--@use as_utf8

if #progress > 4096 then
  return redis.error_reply('ERR the progress has ' .. #progress .. ' bytes and the limit is 4096')
end
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
local event = cjson.encode({ event = 'progress', job = as_utf8(id), progress = as_utf8(progress) })
redis.call('HSET', job_key, 'progress', progress)
redis.pcall('PUBLISH', base .. 'events', event)
return 1
