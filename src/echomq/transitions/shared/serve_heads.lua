-- serve_heads(base, lane, most, plan): up to `most` of the oldest jobs of a lane or of the flat set. Only plans.
--
-- The lane has `key`, `group` (false for the flat set), `name`, `depth`, and what `open_heads` gave it. What leaves its
-- set is in `lane.goes`, `depth` is what is left, and `owes` says whether the next place is a fresh job's (docs/wire.md,
-- take, 4). `plan` is the claim's:
--   jobs      served so far; these are added. Returns how many
--   odd       what is neither served nor a ghost: see judge_head
--   reads     how many rows may still be read
--   manners   whether retries make room for fresh jobs: at one that should, `lane.held` is that job, and it stays
-- It also ends where a run of fresh jobs was taken out of the order, at `run_began`: see `serve_lane`.
--@use judge_head
local function id_at(lane, index)
  local id = lane.ids[index]
  if not id then
    local found = redis.call('ZRANGE', lane.key, index, index + lane.width - 1)
    for place = 1, #found do
      lane.ids[index + place - 1] = found[place]
    end
    lane.width = math.min(lane.width * 2, 500)
    id = found[1]
  end
  return id
end

local function serve_heads(base, lane, most, plan)
  if not lane.ids then
    lane.ids, lane.goes, lane.size, lane.old, lane.width = {}, {}, lane.depth, 0, math.min(most, 500)
  end
  local ids, goes, jobs, odd, manners = lane.ids, lane.goes, plan.jobs, plan.odd, plan.manners
  local group, name, owes = lane.group, lane.name, lane.owes
  local first, upto, served = lane.old, lane.run_began or lane.size, 0
  local index, last = first, first + plan.reads
  while served < most and index < upto and index < last do
    local id = ids[index] or id_at(lane, index)
    local job, fresh = judge_head(base, id, group, name, odd)
    if job and not fresh and manners and owes then
      lane.held, last = job, last - 1
      break
    end
    index = index + 1
    goes[#goes + 1] = id
    if job then
      served = served + 1
      jobs[#jobs + 1] = job
      owes = not fresh
    end
  end
  lane.owes, lane.old, lane.depth, plan.reads = owes, index, lane.depth - (index - first), last - index
  return served
end
