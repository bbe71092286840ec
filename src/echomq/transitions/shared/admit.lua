-- admit(job_key, id, payload, state, max_attempts, group, place): the four moves of every single admission.
--
-- `max_attempts` and `group` may be nil or empty: none. `place` puts the id into its set. Returns 1, 0 or the EMQKIND or
-- WRONGTYPE error. `HLEN` tells absence and checks the row's type in one read; the set is written first: if it has
-- another type, or the server is full, the script ends there and nothing is written.
--@use is_broken
--@use whole
--@use broken_row
local function admit(job_key, id, payload, state, max_attempts, group, place)
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
  local row = { 'state', state, 'attempts', '0', 'payload', payload }
  if group and group ~= '' then
    row[7], row[8] = 'group', group
  end
  if max_attempts and max_attempts ~= '' then
    row[#row + 1] = 'max_attempts'
    row[#row + 1] = whole('max_attempts', max_attempts, 1, 999999999999999)
  end
  place()
  if fields > 0 then
    redis.call('DEL', job_key)
  end
  redis.call('HSET', job_key, unpack(row))
  return 1
end
