-- one_turn(base, ring_key, active_key, lease, share_of): one turn of one lane: the three claims of lanes (protocol
-- 4.16.2 to 4, docs/wire.md).
--
-- `share_of(lane)` is how many jobs the turn serves at most. Returns the jobs, as replies tell them. Entries that
-- cannot be served are dropped and the next is tried (W26); a damaged lane goes to the tail. At most 100 entries and
-- 1000 rows.
--@use now_ms
--@use fly
--@use serviceable
--@use walk_ring
--@use serve_heads
--@use leave_set
--@use turn_ring
--@use lease_jobs
--@use close_lanes
local function plan_turn(base, walk, plan, share_of)
  local tail, met = {}, {}
  while #plan.jobs == 0 and plan.reads > 0 do
    local lane = step(walk)
    if not lane then
      break
    elseif not lane.met then
      met[#met + 1] = lane
      lane.met = true
      if lane.trouble then
        tail[#tail + 1] = lane.group
      elseif serviceable(lane) then
        local seats = lane.limit and lane.limit - lane.act or 1000
        local share = math.min(share_of(lane), seats, 1000)
        lane.width = share
        local served = serve_heads(base, lane, share, plan)
        if served > 0 then
          fly(base, lane, served)
        end
        lane.stands = serviceable(lane)
        if lane.stands and served > 0 then
          tail[#tail + 1] = lane.group
        elseif lane.stands then
          -- All rows that may be read were no jobs: the next call goes on with this lane.
          walk.passed = walk.passed - 1
        end
      end
    end
  end
  return tail, met
end

local function one_turn(base, ring_key, active_key, lease, share_of)
  local length = redis.call('LLEN', ring_key)
  redis.call('ZCARD', active_key)
  local plan = { jobs = {}, odd = {}, reads = 1000, manners = false }
  local walk = walk_ring(base, ring_key, math.min(length, 100), 1)
  local tail, met = plan_turn(base, walk, plan, share_of)
  local send_off
  if #plan.odd > 0 then
--@use sort_out
    send_off = select(3, sort_out(base, plan.odd))
  end

  for place = 1, #met do
    leave_set(met[place])
  end
  turn_ring(ring_key, length, walk.passed, tail)
  if #plan.jobs > 0 then
    lease_jobs(base, active_key, plan.jobs, now_ms() + lease)
  end
  if send_off then
    send_off()
  end
  close_lanes(base)
  return plan.jobs
end
