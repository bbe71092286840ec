-- look_parking(base, active_key, deadline, watcher, now, offered): how long a worker may park (docs/wire.md, take, 8).
--
-- For before the writes; `deadline` is the one of the leases that the script is going to write, or nil, `watcher` the
-- caller's name or nil. Returns due and wait_ms; and, if the caller is to watch, the instant and what `watch` has to
-- say: one parked worker looks after what is due next, and wakes the others, which park for as long as they offer.
local function look_parking(base, active_key, deadline, watcher, now, offered)
  local call = redis.call
  local due = tonumber(call('ZRANGE', base .. 'schedule', 0, 0, 'WITHSCORES')[2] or 'inf')
  local lapse = tonumber(call('ZRANGE', active_key, 0, 0, 'WITHSCORES')[2] or 'inf')
  local watching = watcher and call('GET', base .. 'watch')
  local next_ms = math.ceil(math.min(due, lapse, deadline or due))
  if next_ms <= now then
    return 1, 0
  elseif next_ms - now > offered then
    return 0, offered
  elseif not watcher then
    return 0, next_ms - now
  end
  -- What stands there in another form, or for an instant that is past, is nobody's watch.
  local name, until_text = string.match(watching or '', '^(%S+) (%d+)$')
  local until_ms = tonumber(until_text)
  if name and name ~= watcher and until_ms > now and until_ms <= next_ms then
    return 0, offered
  end
  return 0, next_ms - now, next_ms, string.format('%s %.0f', watcher, next_ms)
end
