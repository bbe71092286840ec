-- take: lease jobs for a worker's free slots, lanes and flat set in turn (ours, docs/wire.md: the numbers are its).
--
-- keys   ring      the rota (list)
--        pending   ready jobs of the flat set (zset)
--        active    leased jobs by lease end (zset)
--        meta      settings of the queue (hash)
--        wake      wake-ups for parked workers (list)
--        dead      where ids with a broken row go (zset)
--        base      the queue's base, itself no key
-- args   lease_ms
--        size      how many at most, 1 to 1000
--        worth     the token that woke the caller, `beat`: nobody did; or empty
--        watcher   a name for the caller, or empty
--        park_ms   how long it offers to park
-- reply  ["paused"]
--        ["taken", "empty" or "full", more, due, wait_ms, [broken ids], [[id, payload or null, token, group or ""]...]]
--
-- Everything is read and planned first; one block of writes follows. The ordinary case of a queue without lanes comes
-- first and makes no function that it has no use for: making one costs as much as a small command.
--@use whole
--@use bounded
--@use counted
--@use now_ms
--@use serve_heads
--@use leave_set
--@use lease_jobs
--@use look_parking
--@use hand_on

local call, base = redis.call, base_key
local lease = whole('lease_ms', lease_ms, 1)
local most = bounded('size', size, 1)
local offered = park_ms and park_ms ~= '' and whole('park_ms', park_ms, 1, 3600000) or 1000
local named = watcher and watcher ~= '' and watcher or nil
if named and (#named > 64 or string.find(named, '[^\33-\126]')) then
  return redis.error_reply('ERR watcher must be 1 to 64 printable ASCII characters without spaces')
end

-- 1. Room.
local settings = call('HMGET', meta_key, 'paused', 'concurrency')
if settings[1] then
  return { 'paused' }
end
local now, running, lying = now_ms(), call('ZCARD', active_key), redis.pcall('LLEN', wake_key)
if type(lying) == 'table' then
  local damage = 'WRONGTYPE the key ' .. wake_key .. ' holds a value of another type'
  return redis.error_reply(string.sub(lying.err, 1, 9) == 'WRONGTYPE' and damage or lying.err)
end
local ceiling, seats, room = settings[2] and counted(settings[2]), nil, most
if ceiling and ceiling >= 1 then
  seats = ceiling - running
  room = math.min(most, seats)
end
local is_full = room <= 0

-- 6. to 8. What the caller is told, and what is left for others: `left`, as far as it is known, is handed on.
local due, wait_ms, watch_until, watch = 0, 0, nil, nil
local function answer(jobs, more, left, broken)
  if not more and (lying > 0 or watch) then
    -- It is the first write of a take that finds nothing: a full server allows DEL, and then the SET as well.
    call('DEL', wake_key)
  elseif more and worth and worth ~= '' then
    hand_on(wake_key, lying, worth, #jobs, left)
  end
  if watch then
    call('SET', base .. 'watch', watch, 'PXAT', watch_until + 1000)
  end
  return { is_full and 'full' or #jobs > 0 and 'taken' or 'empty', more and 1 or 0, due, wait_ms, broken, jobs }
end

-- The flat set alone: nothing stands on the ring, and no two jobs in a row ask for manners.
local rota_key, owing_key = base .. 'rota', base .. 'fresh_next'
local is_flat = not is_full and call('EXISTS', ring_key, rota_key, owing_key) == 0
local length = not is_full and not is_flat and call('LLEN', ring_key) or 0
local depth = not is_full and call('ZCARD', pending_key) or 0
local jobs, odd = {}, {}
local plan = { jobs = jobs, odd = odd, reads = room + 100, manners = true }
local flat = {
  key = pending_key, group = false, name = '', weight = 1, depth = depth, size = depth, served = 0, owes = false,
  owed = false, met = false, old = 1, ids = {}, width = math.min(room, 500),
}
local is_plain = is_full
if is_flat then
  flat.served = serve_heads(base, flat, room, plan)
  is_plain = #odd == 0 and not flat.held and not flat.owes
end
if is_plain then
  local more = flat.depth > 0 and not (seats and #jobs >= seats)
  if #jobs < most and not more then
    local deadline = #jobs > 0 and now + lease or nil
    due, wait_ms, watch_until, watch = look_parking(base, active_key, deadline, named, now, offered)
  end
  -- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
  leave_set(flat)
  if #jobs > 0 then
    lease_jobs(base, active_key, jobs, now + lease)
  end
  return answer(jobs, more, flat.depth, {})
end

-- 2. to 4. The turns: where the rota stands is told by the ring, and by three fields as far as that does not say it.
--@use need
--@use probe
--@use serviceable
--@use walk_ring
--@use go_round
--@use turn_ring
--@use keep_rota
--@use close_lanes
local told = {}
if call('EXISTS', rota_key, owing_key) > 0 then
  told = need(probe('HMGET', rota_key, 'flat', 'turn', 'left'))
  flat.owed = need(probe('SISMEMBER', owing_key, '')) == 1
  flat.owes = flat.owed
end
local flat_at, left_of_turn = told[1] and counted(told[1]), told[3] and counted(told[3])
local goes_on = told[2] and left_of_turn and left_of_turn >= 1
local rota = {
  base = base,
  walk = walk_ring(base, ring_key, math.min(length, room + 100), math.min(room, 16)),
  length = length,
  flat = flat,
  flat_at = flat_at and flat_at >= 0 and math.min(flat_at, length) or length,
  turn = goes_on and told[2] or nil,
  left = goes_on and math.min(left_of_turn, 1000) or nil,
  room = room - flat.served,
}
go_round(rota, plan)
local met, passed, tail = rota.met, rota.walk.passed, rota.tail
local ring_left = length - passed + #tail
local broken, homes, send_off = {}, 0, nil
if #odd > 0 then
--@use sort_out
  broken, homes, send_off = sort_out(base, odd)
end
local function is_more()
  return flat.depth + ring_left > rota.damaged and not (seats and #jobs >= seats)
end
if #jobs < most and not is_more() then
  local deadline = #jobs > 0 and now + lease or nil
  due, wait_ms, watch_until, watch = look_parking(base, active_key, deadline, named, now, offered)
end

-- 5. Writing. The first one is allowed on a full server: a ZREM, or else LPOP or DEL.
met[#met + 1] = flat
for place = 1, #met do
  leave_set(met[place])
end
turn_ring(ring_key, length, passed, tail)
keep_rota(base, rota, told)
if #jobs > 0 then
  lease_jobs(base, active_key, jobs, now + lease)
end
if send_off then
  send_off()
end
close_lanes(base)

-- What goes home may have been served to nobody yet: then there is more than was planned.
if homes > 0 then
  ring_left, flat.depth, lying = call('LLEN', ring_key), call('ZCARD', pending_key), call('LLEN', wake_key)
end
if is_more() then
  due, wait_ms, watch = 0, 0, nil
end
local left = flat.depth + ring_left
for place = 1, #met - 1 do
  local lane = met[place]
  if lane.served > 0 and serviceable(lane) then
    left = left - 1 + math.min(lane.depth, lane.limit and lane.limit - math.max(lane.act, 0) or lane.depth)
  end
end
return answer(jobs, is_more(), left, broken)
