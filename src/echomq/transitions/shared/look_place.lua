-- look_place(base, group): where make_ready is going to put a job, checked before the first write.
--
-- Returns the lane; nil for the flat set, when `group` is false or nil. Trouble is the reply of the script.
--@use need
--@use look_lane
--@use look_wake
local function look_place(base, group)
  if group then
    return need(look_lane(base, group))
  end
  redis.call('ZCARD', base .. 'pending')
  need(look_wake(base))
  return nil
end
