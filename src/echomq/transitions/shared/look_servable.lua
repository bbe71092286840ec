-- look_servable(base, most): how many jobs somebody could be given now, as far as that is known without a walk.
--
-- Those of the flat set and of the first 64 lanes of the ring; at most the seats that `most`, the ceiling or nil, leaves
-- free. What cannot be read counts for nothing. For resume and set_concurrency, which leave as many wake-ups by
-- leave_tokens.
--@use need
--@use probe
--@use look_lane
--@use look_wake
--@use servable
local function look_servable(base, most)
  need(look_wake(base))
  local jobs, met = probe('ZCARD', base .. 'pending') or 0, {}
  for _, group in ipairs(probe('LRANGE', base .. 'ring', 0, 63) or {}) do
    local lane, trouble = look_lane(base, group)
    if not met[group] and not trouble then
      jobs = jobs + servable(lane)
    end
    met[group] = true
  end
  return most and math.min(jobs, most - (probe('ZCARD', base .. 'active') or 0)) or jobs
end
