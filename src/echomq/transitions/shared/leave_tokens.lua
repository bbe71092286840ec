-- leave_tokens(base, entered, worth): leave wake-ups for parked workers (docs/wire.md, rule 12).
--
-- One token `1` for each lane that entered the ring, the published rule R. If none lay there before, what these do not
-- cover of `worth` is one token more, which is handed out first. The list never holds more than 64.
--@use look_wake
local function leave_tokens(base, entered, worth)
  local lying = (entered > 0 or worth > 0) and look_wake(base)
  if not lying then
    return
  end
  if lying > 0 and entered == 0 then
    return
  end
  local texts, ones = {}, math.min(entered, 64)
  if lying == 0 and worth > ones then
    ones = math.min(entered, 63)
    texts[ones + 1] = math.min(worth - ones, 1000)
  end
  for place = 1, ones do
    texts[place] = '1'
  end
  redis.call('LPUSH', base .. 'wake', unpack(texts))
  if lying + #texts > 64 then
    redis.call('LTRIM', base .. 'wake', 0, 63)
  end
end
