-- admit(job_key, set_key, score, state, id, payload, max_attempts): the four moves of every single admission.
--
-- Returns 1, 0 or the EMQKIND error. `HLEN` tells absence and checks the row's type in one read; the set is written
-- first, because its type has not been read: if it is wrong, the script ends there and nothing is written.
local function admit(job_key, set_key, score, state, id, payload, max_attempts)
  if string.sub(id, 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND ' .. id .. ' does not begin with JOB')
  end
  local fields = redis.call('HLEN', job_key)
  if fields > 0 and redis.call('HEXISTS', job_key, 'attempts') == 1 then
    return 0
  end
  redis.call('ZADD', set_key, score, id)
  if fields > 0 then
    redis.call('DEL', job_key)
  end
  if max_attempts and max_attempts ~= '' then
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload, 'max_attempts', max_attempts)
  else
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload)
  end
  return 1
end
