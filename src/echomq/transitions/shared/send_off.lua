-- send_off(base, fate): write where the ids went that a claim passed over, after they have left the set.
--
-- `fate` comes from `judge_head`. What is broken or damaged goes to dead and is not counted; what stood in the wrong set
-- is ready in its own, where close_lanes gives it its turn (W8).
--@use now_ms
--@use in_chunks
--@use set_aside
--@use make_ready
local function send_off(base, fate)
  local dead, damaged, home = fate.dead, fate.damaged, fate.home
  if #dead > 0 then
    local pairs_of = {}
    for place = 1, #dead do
      pairs_of[2 * place - 1], pairs_of[2 * place] = 0, dead[place]
    end
    in_chunks('ZADD', base .. 'dead', pairs_of)
  end
  for place = 1, #damaged do
    set_aside(damaged[place].key, damaged[place].trouble, now_ms())
  end
  for place = 1, #home do
    local job = home[place]
    make_ready(base, job.id, base .. 'job:' .. job.id, job.group or nil, job.lane)
  end
end
