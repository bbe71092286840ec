-- bounded(name, text, default): how many ids one call may touch: from 1 to 1000, more is lowered to 1000.
--
-- Empty or left out stands for the default. The bound holds for every caller, since a script blocks the server (W44).
--@use whole
local function bounded(name, text, default)
  if not text or text == '' then
    return default
  end
  return math.min(whole(name, text, 1), 1000)
end
