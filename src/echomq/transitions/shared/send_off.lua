-- send_off(base, fate): write where the ids go that a claim passed over, after they have left the set.
--
-- `fate` comes from `sort_out`. What is broken or damaged goes to dead and is not counted; what stood in the wrong set is
-- ready in its own, where close_lanes gives it its turn (W8).
--@use now_ms
--@use set_aside
--@use make_ready
local function send_off(base, fate)
  for place = 1, #fate.dead do
    redis.call('ZADD', base .. 'dead', 0, fate.dead[place])
  end
  for place = 1, #fate.damaged do
    set_aside(fate.damaged[place].key, fate.damaged[place].trouble, now_ms())
  end
  for place = 1, #fate.home do
    local job = fate.home[place]
    make_ready(base, job.id, job.key, job.group or nil, job.lane)
  end
end
