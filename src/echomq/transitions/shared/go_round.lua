-- go_round(rota, plan): give lanes and the flat set their turns (docs/wire.md, take, 2 and 3). Only plans.
--
-- The rota is a queue: in front the first entries of the ring, among them the flat set, and behind them those that have
-- had their turn. It is a table of
--   base, walk, length   the way along the ring (walk_ring), and how many entries that has
--   flat                 what stands for the flat set: see serve_heads
--   flat_at              how many entries in front are ahead of it
--   turn, left           the turn that the take before could not end, or nil
--   room                 how many jobs may still be served
-- and go_round adds
--   met, damaged         the lanes that were met, in order, and how many of them are damaged
--   tail                 the groups that come back to the ring, in order
--   ahead                how many entries are then ahead of the flat set
--   unfinished, share    the group whose turn could not be ended, and what is left of it
--@use serviceable
--@use walk_ring
--@use fly
--@use serve_lane

-- The next of the rota, and whether it comes from the front; nil: the turns end.
local function next_entry(rota)
  local walk = rota.walk
  if rota.flat_at == walk.passed then
    rota.flat_at = nil
    return rota.flat, true
  elseif walk.passed < walk.window then
    return step(walk), true
  elseif walk.window == rota.length and rota.back[rota.back_from] then
    rota.back_from = rota.back_from + 1
    return rota.back[rota.back_from - 1], false
  end
  return nil
end

local function meet(rota, lane)
  lane.met = true
  rota.met[#rota.met + 1] = lane
  if lane.trouble then
    rota.damaged = rota.damaged + 1
  elseif rota.walk.passed == 1 and rota.turn == lane.group then
    lane.left = rota.left
  end
end

-- As much as its weight, its limit and the room leave. What is alone on the rota has all its turns at once.
local function take_turn(rota, entry, plan)
  local share = entry.left or entry.weight
  local most = math.min(share, rota.room)
  if rota.walk.passed == rota.length and not rota.back[rota.back_from] and not rota.flat_at then
    most = rota.room
  end
  if entry.limit then
    most = math.min(most, entry.limit - entry.act)
  end
  if entry.served == 0 then
    entry.width = math.min(most, 500)
  end
  local served = serve_lane(rota.base, entry, most, plan)
  rota.room = rota.room - served
  entry.served = entry.served + served
  if entry.group and served > 0 then
    fly(rota.base, entry, served)
  end
  if served > share then
    share = share + math.ceil((served - share) / entry.weight) * entry.weight
  end
  return share - served, served
end

local function end_turn(rota, entry, in_front, left, served)
  if not serviceable(entry) then
    return
  elseif left == 0 then
    entry.left = nil
    rota.back[#rota.back + 1] = entry
    return
  end
  -- The room or the rows are used up in the middle of it: it stays where it is.
  if not in_front then
    rota.back_from = rota.back_from - 1
  elseif entry == rota.flat then
    rota.flat_at = rota.walk.passed
  else
    rota.walk.passed, entry.stands = rota.walk.passed - 1, true
  end
  if entry.group and (served > 0 or entry.left) then
    rota.unfinished, rota.share = entry.group, left
  end
end

local function gather(rota)
  local tail, back = rota.tail, rota.back
  rota.ahead = rota.flat_at and rota.flat_at - rota.walk.passed
  for place = rota.back_from, #back do
    if back[place] == rota.flat then
      rota.ahead = rota.length - rota.walk.passed + #tail
    else
      back[place].stands = true
      tail[#tail + 1] = back[place].group
    end
  end
end

local function go_round(rota, plan)
  rota.back, rota.back_from, rota.tail, rota.met, rota.damaged = {}, 1, {}, {}, 0
  while rota.room > 0 and plan.reads > 0 do
    local entry, in_front = next_entry(rota)
    if not entry then
      break
    end
    local again = entry.met
    if entry.group and not again then
      meet(rota, entry)
    end
    if again and in_front then
      -- The second entry of a group: it is passed, and does not come back.
    elseif entry.trouble and again then
      -- A damaged lane that has come round: it stays ahead of those whose turn comes yet.
      rota.tail[#rota.tail + 1] = entry.group
    elseif entry.trouble then
      rota.back[#rota.back + 1] = entry
    elseif serviceable(entry) then
      end_turn(rota, entry, in_front, take_turn(rota, entry, plan))
    end
  end
  gather(rota)
end
