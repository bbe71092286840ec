-- no_fate(): where nothing is collected yet for `send_off`: see `judge_head`.
local function no_fate()
  return { home = {}, dead = {}, damaged = {} }
end
