-- look_wake(base): how many wake-up tokens lie there, read once in a script; nil and an error text for another type.
--
-- Tokens are pushed by close_lanes alone, so the number holds until then.
--@use probe
local tokens, no_tokens

local function look_wake(base)
  if not tokens and not no_tokens then
    tokens, no_tokens = probe('LLEN', base .. 'wake')
  end
  return tokens, no_tokens
end
