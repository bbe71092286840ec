-- park(base, watching, watcher, next_ms, now, offered): due and wait_ms for a worker that may park (docs/wire.md, take, 8).
--
-- One parked worker watches for what `look_next` says; the others may park for as long as they offer, since the watcher
-- wakes them. `watching` is what `watch` says, in another form nobody's; `watcher` is the caller's name or nil.
local function park(base, watching, watcher, next_ms, now, offered)
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
    redis.call('SET', base .. 'watch', string.format('%s %.0f', watcher, next_ms), 'PXAT', next_ms + 1000)
  end
  return 0, next_ms - now
end
