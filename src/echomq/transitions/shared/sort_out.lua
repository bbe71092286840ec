-- sort_out(base, odd): where the ids go that are no jobs of the set they stand in, judged before the first write.
--
-- `odd` comes from `judge_head`; the answer is for `send_off`: `dead` has ids with a broken row and of damaged jobs, which
-- are in `damaged` as well (docs/wire.md, rule 3), and `home` the jobs of another set, whatever their counters say.
--@use miscounted
--@use look_lane
--@use look_place
local function sort_out(base, odd)
  local fate = { dead = {}, damaged = {}, home = {} }
  for place = 1, #odd do
    local job = odd[place]
    if job.is_misplaced and job.group then
      job.lane, job.trouble = look_lane(base, job.group)
    elseif job.is_misplaced then
      look_place(base, nil)
    elseif job.key then
      job.trouble = miscounted(job.key, 'attempts')
    end
    if job.trouble then
      fate.damaged[#fate.damaged + 1] = job
    end
    local list = job.is_misplaced and not job.trouble and fate.home or fate.dead
    list[#list + 1] = list == fate.home and job or job.id
  end
  if #fate.dead > 0 then
    redis.call('ZCARD', base .. 'dead')
  end
  return fate
end
