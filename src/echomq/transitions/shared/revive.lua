-- revive(base, id, job_key, attempts, group, lane, fresh): make a job ready that has just left dead.
--
-- With `fresh` all attempts so far count as unspent, so that the cap counts anew; `attempts` itself is the fencing
-- token and never goes down.
--@use make_ready
local function revive(base, id, job_key, attempts, group, lane, fresh)
  if fresh == '1' then
    redis.call('HDEL', job_key, 'last_error', 'died_at', 'stalled')
    redis.call('HSET', job_key, 'unspent', attempts)
  else
    redis.call('HDEL', job_key, 'last_error', 'died_at')
  end
  make_ready(base, id, job_key, group, lane)
end
