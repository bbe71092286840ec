-- claim_many: lease the oldest ready jobs of the flat set on one common deadline (ours, docs/wire.md).
--
-- keys   pending   ready jobs of the flat set (zset)
--        active    leased jobs by lease end (zset)
--        meta      settings of the queue (hash)
--        dead      where ids with a broken row go (zset)
--        base      the queue's base, itself no key
-- args   lease_ms
--        size      how many at most, 1 to 1000
-- reply  ["paused"]   ["claimed" or "empty", left, [broken ids], [[id, payload or null, token]...]]
--
-- The pause flag and the ceiling are read in the same step (W33). One broken row stops nobody: its id goes to dead and
-- is named (W2). Ids without a job are dropped (W4), jobs with a group go home (W8). A hundred heads more than asked
-- for are looked at, so that these do not make it seem empty (W26).
--@use whole
--@use now_ms
--@use bounded
--@use counted
--@use in_chunks
--@use judge_head
--@use lease_jobs

local lease = whole('lease_ms', lease_ms, 1)
local most = bounded('size', size, 1)
local call, base = redis.call, base_key
local settings = call('HMGET', meta_key, 'paused', 'concurrency')
if settings[1] then
  return { 'paused' }
end
local running = call('ZCARD', active_key)
local ceiling, room = settings[2] and counted(settings[2]), most
if ceiling and ceiling >= 1 then
  room = math.min(most, ceiling - running)
end

local served, walked, odd = {}, {}, {}
local heads_most = room > 0 and most + 100 or 0
while #served < room and #walked < heads_most do
  local from = #walked
  local width = math.min(from == 0 and room or 100, heads_most - from)
  local heads = call('ZRANGE', pending_key, from, from + width - 1)
  for place = 1, #heads do
    local id = heads[place]
    walked[from + place] = id
    served[#served + 1] = judge_head(base, id, false, nil, odd)
    if #served == room then
      break
    end
  end
  if #heads < width then
    break
  end
end

-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
local function write_served()
  in_chunks('ZREM', pending_key, walked)
  if #served > 0 then
    lease_jobs(base, active_key, served, now_ms() + lease)
  end
end

local function answer(broken)
  return { #served > 0 and 'claimed' or 'empty', call('ZCARD', pending_key), broken, served }
end

if #odd == 0 then
  write_served()
  return answer({})
end

--@use sort_out
--@use close_lanes
local broken, _, send_off = sort_out(base, odd)
write_served()
send_off()
close_lanes(base)
return answer(broken)
