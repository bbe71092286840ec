-- hand_on(wake_key, rest): pass wake-ups on, if no token lies there: the greater half, and the lesser (docs/wire.md, take).
--
-- Two woken workers that do the same wake four, so that a flood needs no list of tokens as long as itself (W27). A list
-- of another type is passed by.
--@use probe
local function hand_on(wake_key, rest)
  if rest > 0 and probe('LLEN', wake_key) == 0 then
    local lesser = math.floor(rest / 2)
    redis.call('LPUSH', wake_key, rest - lesser)
    if lesser > 0 then
      redis.call('LPUSH', wake_key, lesser)
    end
  end
end
