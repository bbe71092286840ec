-- take: lease jobs for a worker's free slots, lanes and flat set in turn (ours, docs/wire.md; the numbers are of there).
--
-- keys   ring, pending, active, meta, wake, dead, base (itself no key)
-- args   lease_ms
--        size      how many at most, 1 to 1000
--        worth     the token that woke the caller, `beat`: nobody did; or empty
--        watcher   a name for the caller, or empty
--        park_ms   how long it offers to park
-- reply  ["paused"]
--        ["taken", "empty" or "full", more, due, wait_ms, [broken ids], [[id, payload or null, token, group or ""]...]]
--
-- The rota is a queue: the ring's first entries in front, the flat set among them, and behind them those that had their
-- turn. Everything is read and planned first; one block of writes follows. What the plan needs of lanes is read for
-- many at once, and of a lane only when its turn comes.
--@use whole
--@use bounded
--@use now_ms
--@use need
--@use probe
--@use counted
--@use in_chunks
--@use serviceable
--@use walk_ring
--@use turn_ring
--@use fly
--@use no_fate
--@use serve_lane
--@use leave_sets
--@use send_off
--@use lease_jobs
--@use close_lanes
--@use parking
--@use worth_of
--@use hand_on

local call = redis.call
local base = base_key
local lease = whole('lease_ms', lease_ms, 1)
local most = bounded('size', size, 1)
local named = watcher and watcher ~= ''
local offered = park_ms and park_ms ~= '' and whole('park_ms', park_ms, 1, 3600000) or 1000
if named and (#watcher > 64 or string.find(watcher, '[^\33-\126]')) then
  return redis.error_reply('ERR watcher must be 1 to 64 printable ASCII characters without spaces')
end

-- 1. Room.
local settings = call('HMGET', meta_key, 'paused', 'concurrency')
if settings[1] then
  return { 'paused' }
end
local now = now_ms()
local running = call('ZCARD', active_key)
local ceiling = settings[2] and counted(settings[2])
local room, seats = most, nil
if ceiling and ceiling > 0 then
  seats = ceiling - running
  room = math.min(most, seats)
end

local plan = { jobs = {}, fate = no_fate(), reads = math.max(room, 0) + 100, manners = true }
local jobs, fate = plan.jobs, plan.fate

-- 2. The rota: what stood on the ring when the take began, and the flat set, which stands where `flat` of rota says.
local rota_key, owing_key = base .. 'rota', base .. 'fresh_next'
local length, flat_at, walk = 0, nil, { passed = 0, window = 0 }
local told = {}
local flat = { key = pending_key, group = false, name = '', depth = 0, weight = 1, served = 0, arrived = 0 }
local met, damaged = {}, 0
local back, back_from, held = {}, 1, {}

local function open_rota()
  length = call('LLEN', ring_key)
  walk = walk_ring(base, ring_key, math.min(length, room + 100), math.min(room, 16))
  flat.depth = call('ZCARD', pending_key)
  told = need(probe('HMGET', rota_key, 'flat', 'turn', 'left'))
  flat.owed = need(probe('SCARD', owing_key)) > 0 and call('SISMEMBER', owing_key, '') == 1
  flat.owes = flat.owed
  local ahead = told[1] and counted(told[1])
  flat_at = flat.depth > 0 and math.min(ahead and ahead >= 0 and ahead or length, length) or nil
end

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

local function stays_in_front(entry, from_front)
  if not from_front then
    back_from = back_from - 1
  elseif entry == flat then
    flat_at = walk.passed
  else
    walk.passed, entry.stands = walk.passed - 1, true
  end
end

-- 3. A turn: as much as its weight, its limit and the room leave. Returns what is left of the weight, and what it served.
local function take_turn(entry)
  local share = entry.left or entry.weight
  local most_of_it = math.min(share, room)
  if entry.limit then
    most_of_it = math.min(most_of_it, entry.limit - entry.act)
  elseif entry == flat and walk.passed == length and not back[back_from] then
    most_of_it = room
  end
  local served = serve_lane(base, entry, most_of_it, plan)
  room = room - served
  entry.served = entry.served + served
  if served > 0 and entry ~= flat then
    fly(base, entry, served)
  end
  return share - served, served
end

local function meet(lane)
  lane.met, lane.served, lane.owed, lane.stands = true, 0, lane.owes, false
  met[#met + 1] = lane
  if lane.trouble then
    damaged = damaged + 1
  elseif walk.passed == 1 and told[2] == lane.group then
    local left = told[3] and counted(told[3])
    lane.left = left and left > 0 and left or nil
  end
end

local unfinished
local function end_turn(entry, from_front, left, served)
  if not serviceable(entry) then
    return
  elseif left <= 0 then
    entry.left = nil
    back[#back + 1] = entry
    return
  end
  -- The room or the rows are used up.
  stays_in_front(entry, from_front)
  if entry ~= flat and (served > 0 or entry.left) then
    unfinished = { group = entry.group, left = left }
  end
end

local function go_round()
  while room > 0 and plan.reads > 0 do
    local entry, from_front = next_entry()
    if not entry then
      return
    end
    local again = entry.met
    if entry ~= flat and not again then
      meet(entry)
    end
    if again and from_front then
      -- The second entry of a group: it is dropped.
    elseif entry.trouble then
      local place = again and held or back
      place[#place + 1] = entry
    elseif serviceable(entry) then
      end_turn(entry, from_front, take_turn(entry))
    end
  end
end

-- What enters the ring again, in order, and how many entries are ahead of the flat set.
local function new_tail()
  local tail, ahead = held, flat_at and flat_at - walk.passed
  for place = back_from, #back do
    if back[place] == flat then
      ahead = length - walk.passed + #tail
    else
      tail[#tail + 1] = back[place]
    end
  end
  for place = 1, #tail do
    tail[place].stands = true
    tail[place] = tail[place].group
  end
  return tail, ahead
end

local full = room <= 0
if not full then
  open_rota()
  go_round()
end
local got = #jobs
local tail, ahead = new_tail()
local ring_left = length - walk.passed + #tail

-- 6. Whether a further take would find something.
local function is_more()
  return not (seats and got >= seats) and (flat.depth + tally.flat > 0 or ring_left > damaged)
end

local watch_key, next_ms, watching = base .. 'watch', nil, nil
if got < most and not is_more() then
  next_ms = look_next(base, active_key, got > 0 and now + lease or nil)
  watching = named and need(probe('GET', watch_key))
end

-- 7. Handing on: wake-ups that are left of the worth, or of what is known to be left.
local function known_left()
  local worth, others = flat.depth + tally.flat, ring_left
  for place = 1, #met do
    local lane = met[place]
    if lane.served > 0 and serviceable(lane) then
      worth, others = worth + math.min(lane.depth, lane.limit and lane.limit - lane.act or lane.depth), others - 1
    end
  end
  return math.min(worth + others, 1000)
end

local function rest_of_worth()
  if not worth or worth == '' or (worth == 'beat' and got == 0) then
    return 0
  end
  return worth == 'beat' and known_left() or math.max(worth_of(worth) - got, 1)
end

-- 5. Writing. The first one is allowed on a full server: ZREM, LPOP or DEL.
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

local function write_rota()
  local new = {
    ahead and flat.depth > 0 and ring_left > 0 and tostring(ahead),
    unfinished and unfinished.group,
    unfinished and string.format('%.0f', unfinished.left),
  }
  for place, field in ipairs({ 'flat', 'turn', 'left' }) do
    if new[place] and new[place] ~= told[place] then
      call('HSET', rota_key, field, new[place])
    elseif told[place] and not new[place] then
      call('HDEL', rota_key, field)
    end
  end
end

if not full then
  met[#met + 1] = flat
  leave_sets(met)
  turn_ring(ring_key, length, walk.passed, tail)
  write_owing()
  write_rota()
  if #jobs > 0 then
    lease_jobs(base, active_key, jobs, now + lease)
  end
  send_off(base, fate)
  close_lanes(base)
  if #fate.home > 0 then
    ring_left = call('LLEN', ring_key)
  end
end

local more, due, wait_ms = is_more(), 0, 0
if more then
  met[#met] = nil
  hand_on(wake_key, rest_of_worth())
else
  call('DEL', wake_key)
  if got < most then
    due, wait_ms = park(watch_key, watching, named and watcher, next_ms, now, offered)
  end
end
return { full and 'full' or got > 0 and 'taken' or 'empty', more and 1 or 0, due, wait_ms, fate.dead, jobs }
