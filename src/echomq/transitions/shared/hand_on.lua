-- hand_on(wake_key, lying, worth, got, left): pass wake-ups on, if no token lies there (docs/wire.md, take, 7).
--
-- `lying` is how many do. `worth` is the token that woke the caller, which got so many jobs, or `beat`; `left` is what
-- it knows to be left. Two tokens, the greater half and the lesser: two woken workers that do the same wake four, so
-- that a flood needs no list as long as itself (W27). What another speaker may write is worth one.
--@use counted
local function hand_on(wake_key, lying, worth, got, left)
  local rest
  if worth == 'beat' then
    rest = got > 0 and math.min(left, 1000) or 0
  else
    local given = counted(worth)
    rest = (given and given >= 1 and given <= 1000000 and given or 1) - math.max(got, 1)
  end
  if rest <= 0 or lying > 0 then
    return
  end
  local lesser = math.floor(rest / 2)
  redis.call('LPUSH', wake_key, rest - lesser)
  if lesser > 0 then
    redis.call('LPUSH', wake_key, lesser)
  end
end
