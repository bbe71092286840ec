-- look_next(base, active_key, deadline) and park(...): how long a worker may park (docs/wire.md, take, 8).
--
-- look_next is for before the writes: the instant at which something is due or lapses, nil when nothing ever does;
-- `deadline` is the one of the leases that this script is going to write, or nil. park answers due and wait_ms: one
-- parked worker watches for that instant, the others may park for as long as they offer, since the watcher wakes them.
-- `watching` is what `watch` says. What it says in another form is nobody's watch.
local function look_next(base, active_key, deadline)
  local next_ms = deadline
  local due = redis.call('ZRANGE', base .. 'schedule', 0, 0, 'WITHSCORES')[2]
  local lapse = redis.call('ZRANGE', active_key, 0, 0, 'WITHSCORES')[2]
  for _, score in ipairs({ due or lapse, lapse }) do
    local at = tonumber(score)
    if not next_ms or at < next_ms then
      next_ms = at
    end
  end
  return next_ms and math.ceil(next_ms)
end

local function park(watch_key, watching, watcher, next_ms, now, offered)
  if not next_ms or next_ms - now > offered then
    return 0, offered
  elseif next_ms <= now then
    return 1, 0
  end
  if watcher then
    local name, until_ms = string.match(watching or '', '^(%S+) (%d+)$')
    if name and name ~= watcher and tonumber(until_ms) <= next_ms then
      return 0, offered
    end
    redis.call('SET', watch_key, string.format('%s %.0f', watcher, next_ms), 'PXAT', next_ms + 1000)
  end
  return 0, next_ms - now
end
