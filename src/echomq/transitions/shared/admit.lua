-- may_admit(job_key, id, max_attempts) and admit(...): the moves of every single admission, before and after its set is
-- written.
--
-- may_admit returns nil, how many fields a skeleton has, and the cap of the job's own or nil, when a job of this id may
-- be admitted; else the answer: 0, or the EMQKIND or WRONGTYPE error. `HLEN` tells absence and checks the row's type in
-- one read. admit writes the row; `cap` and `group` are nil for none.
--
-- Between them a body writes the set first: if it has another type, or the server is full, the script ends there and
-- nothing is written.
--@use is_broken
--@use whole
--@use broken_row
local function may_admit(job_key, id, max_attempts)
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
  return nil, fields, capped and whole('max_attempts', max_attempts, 1, 999999999999999) or nil
end

local function admit(job_key, fields, state, payload, cap, group)
  if fields > 0 then
    redis.call('DEL', job_key)
  end
  if not cap and not group then
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload)
  elseif not cap then
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload, 'group', group)
  elseif not group then
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload, 'max_attempts', cap)
  else
    redis.call('HSET', job_key, 'state', state, 'attempts', '0', 'payload', payload, 'group', group, 'max_attempts', cap)
  end
end
