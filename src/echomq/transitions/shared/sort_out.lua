-- sort_out(base, odd): where the ids go that are no jobs of the set they stand in, judged before the first write.
--
-- `odd` comes from `judge_head`. An id with a broken row and a damaged job go to dead, and are not counted
-- (docs/wire.md, rule 3); the job of another set goes home, whatever its counter says, where close_lanes gives it its
-- turn (W8). Returns the ids that go to dead, how many jobs go home, and a function that writes it, for when all have
-- left the set.
--@use now_ms
--@use miscounted
--@use set_aside
--@use look_lane
--@use look_place
--@use make_ready
local function sort_out(base, odd)
  local dead, damaged, home = {}, {}, {}
  for place = 1, #odd do
    local job = odd[place]
    if job.is_misplaced and job.group then
      job.lane, job.trouble = look_lane(base, job.group)
    elseif job.is_misplaced then
      look_place(base, nil)
    elseif job.key then
      job.trouble = miscounted(job.key, 'attempts')
    end
    if job.is_misplaced and not job.trouble then
      home[#home + 1] = job
    else
      dead[#dead + 1] = job.id
      damaged[#damaged + 1] = job.trouble and job
    end
  end
  if #dead > 0 then
    redis.call('ZCARD', base .. 'dead')
  end
  return dead, #home, function()
    for place = 1, #dead do
      redis.call('ZADD', base .. 'dead', 0, dead[place])
    end
    for place = 1, #damaged do
      set_aside(damaged[place].key, damaged[place].trouble, now_ms())
    end
    for place = 1, #home do
      local job = home[place]
      make_ready(base, job.id, job.key, job.group or nil, job.lane)
    end
  end
end
