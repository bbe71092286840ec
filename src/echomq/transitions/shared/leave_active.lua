-- leave_active(active_key, base, id, group, lane): step L of protocol 0; true when the job was leased or ready.
--
-- False means that it was neither, and that nothing was written: the caller answers stale (docs/wire.md, rule 4; W9,
-- W10). Its first write is ZREM, which a full server allows, and everything after the first write is allowed as well.
--@use fly
--@use leave_ready
--@use tally
local function leave_active(active_key, base, id, group, lane)
  if redis.call('ZREM', active_key, id) == 0 then
    return leave_ready(base, id, group, lane)
  end
  tally.ended = tally.ended + 1
  if group then
    fly(base, lane, -1)
  end
  return true
end
