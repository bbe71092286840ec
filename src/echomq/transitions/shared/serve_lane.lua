-- serve_lane(base, lane, most, plan): up to `most` jobs, in the order of docs/wire.md (take, 4). Only plans.
--
-- Arguments and answer are those of `serve_heads`, which does it as long as no two jobs in a row are not fresh.
-- Manners are two fingers on one set. `old` is at the oldest waiting job. When the place is a fresh job's and the
-- oldest is none, `run` is at the first fresh one: among the next 50 it is looked for one by one, since fresh jobs may
-- lie between retries; and farther behind by halving, since behind old failures lies what was never tried. It moves on
-- over fresh jobs only. When `old` comes to where the run began it goes on behind it. The two jobs that can have been
-- read without being served are kept: `held`, the oldest, and `ended_by`, the first behind the run that is not fresh.
--@use is_broken
--@use counted
--@use judge_head
--@use serve_heads

-- A number that is none counts as 0 here, and what is no job at all as fresh: the run clears it away.
local function is_fresh_id(base, id)
  local row = redis.pcall('HMGET', base .. 'job:' .. id, 'attempts', 'unspent')
  if row.err then
    return is_broken(row)
  end
  return (counted(row[1] or '0') or 0) <= (counted(row[2] or '0') or 0)
end

local function is_fresh_at(base, lane, place)
  return is_fresh_id(base, redis.call('ZRANGE', lane.key, place - 1, place - 1)[1])
end

local function begin_run_at(lane, place)
  lane.run_began, lane.run, lane.running = place, place, true
end

local function begin_run(base, lane)
  local low, high = lane.old, lane.size
  lane.searched = true
  local near = redis.call('ZRANGE', lane.key, low, low + 49)
  for at = 1, #near do
    if is_fresh_id(base, near[at]) then
      return begin_run_at(lane, low + at)
    end
  end
  if low + #near == high or not is_fresh_at(base, lane, high) then
    return
  end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if is_fresh_at(base, lane, middle) then
      high = middle
    else
      low = middle
    end
  end
  begin_run_at(lane, high)
end

local function next_of_run(base, lane, plan)
  if not lane.searched then
    begin_run(base, lane)
  end
  while lane.running and plan.reads > 0 do
    if lane.run > lane.size then
      lane.running = false
      return nil
    end
    local id = id_at(lane, lane.run)
    local job, fresh = judge_head(base, id, lane.group, lane.name, plan.odd)
    plan.reads = plan.reads - 1
    if job and not fresh then
      lane.ended_by, lane.running = job, false
      return nil
    end
    lane.run, lane.depth = lane.run + 1, lane.depth - 1
    if job then
      return job
    end
  end
  return nil
end

local function serve_held(lane)
  local job = lane.held
  lane.held, lane.old, lane.depth = nil, lane.old + 1, lane.depth - 1
  return job
end

local function go_behind_run(lane)
  lane.old, lane.held = lane.run, lane.ended_by
  lane.run_began, lane.running = nil, false
end

local function serve_lane(base, lane, most, plan)
  local served = 0
  while served < most and lane.depth > 0 and plan.reads > 0 do
    local job
    if lane.held and not lane.owes then
      job, lane.owes = serve_held(lane), true
    elseif lane.held then
      job = next_of_run(base, lane, plan)
      if job then
        lane.owes = false
      elseif lane.running then
        return served
      else
        job = serve_held(lane)
      end
    elseif lane.run_began and lane.old == lane.run_began then
      go_behind_run(lane)
    else
      served = served + serve_heads(base, lane, most - served, plan)
    end
    if job then
      served = served + 1
      plan.jobs[#plan.jobs + 1] = job
    end
  end
  return served
end
