-- admit(job_key, set_key, score, state, id, payload, max_attempts): the four moves of every single admission.
--
-- Returns 1, 0 or the EMQKIND or WRONGTYPE error. `HLEN` tells absence and checks the row's type in one read; the set
-- is written first: if it has another type, or the server is full, the script ends there and nothing is written.
--@use is_broken
--@use whole
--@use broken_row
local function admit(job_key, set_key, score, state, id, payload, max_attempts)
  if string.sub(id, 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND ' .. id .. ' does not begin with JOB')
  end
  local fields = redis.pcall('HLEN', job_key)
  if fields ~= 0 then
    if type(fields) == 'table' and is_broken(fields) then
      return broken_row(id)
    end
    if redis.call('HEXISTS', job_key, 'attempts') == 1 then
      return 0
    end
  end
  local capped = max_attempts and max_attempts ~= ''
  if capped then
    max_attempts = whole('max_attempts', max_attempts, 1, 999999999999999)
  end
  redis.call('ZADD', set_key, score, id)
  if fields > 0 then
    redis.call('DEL', job_key)
  end
  if capped then
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload, 'max_attempts', max_attempts)
  else
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload)
  end
  return 1
end
