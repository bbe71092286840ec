-- look_counter(key, field): read a counter of a hash before it is raised, as a number; 0 when it is absent.
--
-- Raises WRONGTYPE or ERR. HINCRBY fails on anything else than a plain decimal, and by then a body has written.
local function look_counter(key, field)
  local text = redis.call('HGET', key, field)
  if not text then
    return 0
  end
  if (text ~= '0' and not string.find(text, '^%-?[1-9]%d*$')) or #text > 16 then
    error({ err = 'ERR the field ' .. field .. ' of ' .. key .. ' is not a whole number' })
  end
  return tonumber(text)
end
