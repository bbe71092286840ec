-- look_next(base, active_key, deadline): the instant, in Unix ms, at which something is due or lapses; nil: never.
--
-- `deadline` is the one of the leases that the script is going to write, or nil: this is for before the writes.
local function look_next(base, active_key, deadline)
  local due = redis.call('ZRANGE', base .. 'schedule', 0, 0, 'WITHSCORES')[2]
  local lapse = redis.call('ZRANGE', active_key, 0, 0, 'WITHSCORES')[2]
  due, lapse = tonumber(due or 'inf'), tonumber(lapse or 'inf')
  local next_ms = math.ceil(math.min(due, lapse, deadline or due))
  return next_ms < math.huge and next_ms or nil
end
