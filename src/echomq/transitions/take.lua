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
--@use in_chunks
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
  local is_damaged = string.sub(lying.err, 1, 9) == 'WRONGTYPE'
  return redis.error_reply(is_damaged and 'WRONGTYPE the key ' .. wake_key .. ' holds a value of another type' or lying.err)
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

-- 2. The rota is a queue: in front the first entries of the ring, among them the flat set, which stands where `flat` of
-- rota says; and behind them those that have had their turn.
--@use need
--@use probe
--@use serviceable
--@use walk_ring
--@use turn_ring
--@use fly
--@use serve_lane
--@use close_lanes
local told, owed = {}, false
if call('EXISTS', rota_key, owing_key) > 0 then
  told = need(probe('HMGET', rota_key, 'flat', 'turn', 'left'))
  owed = need(probe('SISMEMBER', owing_key, '')) == 1
end
local told_flat, told_left = told[1] and counted(told[1]), told[3] and counted(told[3])
local walk = walk_ring(base, ring_key, math.min(length, room + 100), math.min(room, 16))
local flat_at = told_flat and told_flat >= 0 and math.min(told_flat, length) or length
local back, back_from, held_back = {}, 1, {}
local met, damaged, unfinished = {}, 0, nil
flat.owed, flat.owes, room = owed, owed or flat.owes, room - flat.served

-- The next of the rota, and whether it comes from the front; nil: the turns end.
local function next_entry()
  if flat_at == walk.passed then
    flat_at = nil
    return flat, true
  elseif walk.passed < walk.window then
    return step(walk), true
  elseif walk.window == length and back[back_from] then
    back_from = back_from + 1
    return back[back_from - 1], false
  end
  return nil
end

local function meet(lane)
  lane.met = true
  met[#met + 1] = lane
  if lane.trouble then
    damaged = damaged + 1
  elseif walk.passed == 1 and told[2] == lane.group and told_left and told_left >= 1 then
    lane.left = told_left
  end
end

-- 3. A turn: as much as its weight, its limit and the room leave. What is alone has all turns at once.
local function take_turn(entry)
  local share = entry.left or entry.weight
  local most_of_it = math.min(share, room)
  if walk.passed == length and not back[back_from] and not flat_at then
    most_of_it = room
  end
  if entry.limit then
    most_of_it = math.min(most_of_it, entry.limit - entry.act)
  end
  if entry.served == 0 then
    entry.width = math.min(most_of_it, 500)
  end
  local served = serve_lane(base, entry, most_of_it, plan)
  room = room - served
  entry.served = entry.served + served
  if entry ~= flat then
    fly(base, entry, served)
  end
  if served > share then
    share = share + math.ceil((served - share) / entry.weight) * entry.weight
  end
  return share - served, served
end

local function end_turn(entry, from_front, left, served)
  if not serviceable(entry) then
    return
  elseif left == 0 then
    entry.left = nil
    back[#back + 1] = entry
    return
  end
  -- The room or the rows are used up in the middle of it: it stays where it is.
  if not from_front then
    back_from = back_from - 1
  elseif entry == flat then
    flat_at = walk.passed
  else
    walk.passed, entry.stands = walk.passed - 1, true
  end
  if entry ~= flat and (served > 0 or entry.left) then
    unfinished = { group = entry.group, left = left }
  end
end

while room > 0 and plan.reads > 0 do
  local entry, from_front = next_entry()
  if not entry then
    break
  end
  local again = entry.met
  if entry ~= flat and not again then
    meet(entry)
  end
  -- The second entry of a group is passed and not pushed again.
  if entry.trouble and not (again and from_front) then
    local list = again and held_back or back
    list[#list + 1] = entry
  elseif serviceable(entry) and not (again and from_front) then
    end_turn(entry, from_front, take_turn(entry))
  end
end

-- What comes back to the ring, in order, and how many entries are then ahead of the flat set.
local tail, ahead = {}, flat_at and flat_at - walk.passed
for place = 1, #held_back do
  tail[place] = held_back[place].group
end
for place = back_from, #back do
  if back[place] == flat then
    ahead = length - walk.passed + #tail
  else
    back[place].stands = true
    tail[#tail + 1] = back[place].group
  end
end
local ring_left = length - walk.passed + #tail
local broken, homes, send_off = {}, 0, nil
if #odd > 0 then
--@use sort_out
  broken, homes, send_off = sort_out(base, odd)
end
local function is_more()
  return flat.depth + ring_left > damaged and not (seats and #jobs >= seats)
end
if #jobs < most and not is_more() then
  local deadline = #jobs > 0 and now + lease or nil
  due, wait_ms, watch_until, watch = look_parking(base, active_key, deadline, named, now, offered)
end

-- 5. Writing. The first one is allowed on a full server: a ZREM, or else LPOP or DEL.
local function write_rota()
  local is_mixed = flat.depth > 0 and ring_left > 0
  local fields = { 'flat', 'turn', 'left' }
  local new = {
    is_mixed and string.format('%.0f', ahead),
    unfinished and unfinished.group,
    unfinished and string.format('%.0f', unfinished.left),
  }
  for place = 1, 3 do
    if new[place] and new[place] ~= told[place] then
      call('HSET', rota_key, fields[place], new[place])
    elseif told[place] and not new[place] then
      call('HDEL', rota_key, fields[place])
    end
  end
end

local function write_owing()
  local owing, free = {}, {}
  for place = 1, #met do
    local lane = met[place]
    local owes = lane.owes and lane.depth > 0
    if owes ~= lane.owed and not lane.trouble then
      local list = owes and owing or free
      list[#list + 1] = lane.name
    end
  end
  in_chunks('SADD', owing_key, owing)
  in_chunks('SREM', owing_key, free)
end

met[#met + 1] = flat
for place = 1, #met do
  leave_set(met[place])
end
turn_ring(ring_key, length, walk.passed, tail)
write_owing()
write_rota()
if #jobs > 0 then
  lease_jobs(base, active_key, jobs, now + lease)
end
if send_off then
  send_off()
end
close_lanes(base)
if homes > 0 then
  ring_left, flat.depth, lying = call('LLEN', ring_key), call('ZCARD', pending_key), call('LLEN', wake_key)
end

local left = flat.depth + ring_left
for place = 1, #met - 1 do
  local lane = met[place]
  if lane.served > 0 and serviceable(lane) then
    left = left - 1 + math.min(lane.depth, lane.limit and lane.limit - lane.act or lane.depth)
  end
end
if is_more() then
  due, wait_ms, watch = 0, 0, nil
end
return answer(jobs, is_more(), left, broken)
