-- serve_heads(base, lane, most, plan): up to `most` of the oldest jobs of a lane or of the flat set. Only plans.
--
-- The lane has `key`, `group` (false for the flat set), `name`, `depth`, which is afterwards what is left, and `owes`,
-- whether its next place is a fresh job's (docs/wire.md, take, 4); and of this walk `size`, the depth at its
-- beginning, `ids`, as far as they are read, `old`, the place of the oldest waiting one from 1 on, and `width`, how
-- many are read at once. The ids before `old` leave the set: see `leave_sets`. `plan` is the claim's:
--   jobs      served so far; these are added. Returns how many
--   odd       what is neither served nor a ghost: see judge_head
--   reads     how many rows may still be read
--   manners   whether retries make room for fresh jobs: at one that should, `lane.held` is that job, and it stays
-- It also ends where a run of fresh jobs was taken out of the order, at `run_began`: see `serve_lane`.
--@use judge_head
local function id_at(lane, place)
  local ids = lane.ids
  if not ids[place] then
    local found = redis.call('ZRANGE', lane.key, place - 1, place + lane.width - 2)
    lane.width = math.min(lane.width * 2, 500)
    if place == 1 then
      lane.ids = found
      return found[1]
    end
    for at = 1, #found do
      ids[place + at - 1] = found[at]
    end
  end
  return ids[place]
end

local function serve_heads(base, lane, most, plan)
  local jobs, odd, manners, group, name = plan.jobs, plan.odd, plan.manners, lane.group, lane.name
  local first, upto, owes, served = lane.old, lane.run_began or lane.size + 1, lane.owes, 0
  local last = first + plan.reads
  if last > upto then
    last = upto
  end
  local place, ids = first, lane.ids
  while served < most and place < last do
    local id = ids[place]
    if not id then
      id = id_at(lane, place)
      ids = lane.ids
    end
    local job, fresh = judge_head(base, id, group, name, odd)
    if job and not fresh and manners and owes then
      lane.held = job
      plan.reads = plan.reads - 1
      break
    end
    place = place + 1
    if job then
      served = served + 1
      jobs[#jobs + 1] = job
      owes = not fresh
    end
  end
  lane.owes, lane.old, lane.depth, plan.reads = owes, place, lane.depth - (place - first), plan.reads - (place - first)
  return served
end
