-- serve_lane(base, lane, most, plan): up to `most` jobs of a lane, in the order of docs/wire.md (take, 4). Only plans.
--
-- The lane is one of meet_lane, or stands for the flat set: `key`, `depth`, `group` (false for the flat set), `name`,
-- `owes`. What leaves its set is in `lane.goes`, and its `depth` is what is left. `plan` is the claim's:
--   jobs      served so far; these are added
--   fate      what is not served: see judge_head
--   reads     how many rows may still be read; at 0 the lane is left as it is
--   manners   whether retries make room for fresh jobs; without, the order is that of minting
--
-- Manners are two fingers on one set. `old` is at the oldest waiting job. When the place is a fresh job's and the oldest
-- is none, `run` is at the first fresh one, found by halving: behind old failures lies what was never tried. It moves on
-- over fresh jobs only. When `old` comes to where the run began it goes on behind it. Of the jobs that were read and are
-- not served, all of which are not fresh, `held` keeps the rows.
--@use is_broken
--@use counted
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

-- A number that is none counts as 0 here, and what is no job at all as fresh: the run clears it away.
local function is_fresh_at(base, lane, index)
  local id = redis.call('ZRANGE', lane.key, index, index)[1]
  local row = redis.pcall('HMGET', base .. 'job:' .. id, 'attempts', 'unspent')
  if row.err then
    return is_broken(row)
  end
  return (counted(row[1] or '0') or 0) <= (counted(row[2] or '0') or 0)
end

local function first_fresh(base, lane)
  local low, high = lane.old, lane.size - 1
  if low == high or not is_fresh_at(base, lane, high) then
    return nil
  end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if is_fresh_at(base, lane, middle) then
      high = middle
    else
      low = middle
    end
  end
  return high
end

local function leave(lane, id)
  lane.goes[#lane.goes + 1] = id
  lane.depth = lane.depth - 1
end

local function next_of_run(base, lane, plan)
  if not lane.searched then
    lane.searched = true
    lane.run = first_fresh(base, lane)
    lane.run_began, lane.running = lane.run, lane.run ~= nil
  end
  while lane.running and plan.reads > 0 do
    local index = lane.run
    if index == lane.size then
      lane.running = false
    else
      local id = id_at(lane, index)
      local job, fresh = judge_head(base, id, lane.group, lane.name, plan.fate)
      plan.reads = plan.reads - 1
      if job and not fresh then
        lane.held[index], lane.running = job, false
      else
        leave(lane, id)
        lane.run = index + 1
        if job then
          return job
        end
      end
    end
  end
end

local function open_lane(lane, width)
  lane.size, lane.old, lane.width = lane.depth, 0, math.min(width, 500)
  lane.ids, lane.held, lane.goes = {}, {}, {}
end

local function serve_lane(base, lane, most, plan)
  if not lane.ids then
    open_lane(lane, most)
  end
  local jobs, served = plan.jobs, 0
  while served < most and lane.depth > 0 do
    if lane.old == lane.run_began then
      lane.old, lane.run_began, lane.running = lane.run, nil, false
    end
    local index = lane.old
    local job, fresh, id = lane.held[index], false, nil
    if not job then
      if plan.reads == 0 then
        break
      end
      id = lane.ids[index] or id_at(lane, index)
      job, fresh = judge_head(base, id, lane.group, lane.name, plan.fate)
      plan.reads = plan.reads - 1
    end
    if job and not fresh and plan.manners and lane.owes then
      lane.held[index] = job
      local instead = next_of_run(base, lane, plan)
      if instead then
        job, fresh = instead, true
      elseif lane.running then
        break
      else
        leave(lane, job[1])
        lane.old = index + 1
      end
    else
      leave(lane, id or job[1])
      lane.old = index + 1
    end
    if job then
      served = served + 1
      jobs[#jobs + 1] = job
      lane.owes = plan.manners and not fresh
    end
  end
  return served
end
