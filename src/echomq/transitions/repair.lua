-- repair: find jobs that stand in no set, and put them back (ours, docs/wire.md).
--
-- keys   base   the queue's base, itself no key
-- args   cursor   0, or the cursor of the call before
--        budget   how many keys of the server to look at, about; 1 to 1000
-- reply  ["repaired", next cursor, [ids]]; cursor 0: the end was reached
--
-- An operator's verb, for a queue that another program wrote to: it walks the keyspace in slices, and one slice is all
-- that a call does. A flow parent that waits for its children stands in no set by design. Skeletons are no jobs. A job
-- whose lane is damaged stays as it is.
--
-- The lanes of the slice are made true as well: the ring is read, once, to see which of them stand there and how often.
--@use bounded
--@use look_lane
--@use make_ready
--@use own_keys
--@use scan_from
--@use close_lanes

local call = redis.call
local most = bounded('budget', budget, 1000)
local base = base_key
local rows = base .. 'job:'
local sets = { base .. 'pending', base .. 'active', base .. 'schedule', base .. 'dead' }
local slice = call('SCAN', scan_from(cursor), 'MATCH', own_keys(rows), 'COUNT', most, 'TYPE', 'hash')
local lost = {}
for place = 1, 4 do
  call('ZCARD', sets[place])
end

local function is_placed(id, lane)
  for place = 1, 4 do
    if call('ZSCORE', sets[place], id) then
      return true
    end
  end
  return lane and (lane.trouble or call('ZSCORE', lane.key, id))
end

local seen = {}
for _, key in ipairs(slice[2]) do
  local id = string.sub(key, #rows + 1)
  -- Ids have no colon, subkeys have one. SCAN may name a key twice.
  if not seen[id] and not string.find(id, ':', 1, true) then
    seen[id] = true
    local row = call('HMGET', key, 'attempts', 'state', 'group')
    local group, lane = row[1] and row[3] or nil, nil
    if group then
      lane = look_lane(base, group)
    end
    if row[1] and row[2] ~= 'awaiting_children' and not is_placed(id, lane) then
      lost[#lost + 1] = { id = id, key = key, dead = row[2] == 'dead', group = group, lane = lane }
    end
  end
end

-- What the lanes are taken for is replaced by what is there: close_lanes then writes the difference.
local standing, doubled = {}, {}
if #looked > 0 and not no_ring then
  for _, group in ipairs(call('LRANGE', base .. 'ring', 0, -1)) do
    standing[group] = (standing[group] or 0) + 1
  end
end
for _, lane in ipairs(looked) do
  if not lane.trouble then
    local times = standing[lane.group] or 0
    lane.stands = times > 0
    lane.live = call('ZSCORE', base .. 'lanes', lane.group) ~= false
    if times > 1 then
      doubled[#doubled + 1] = { group = lane.group, times = times }
    end
  end
end

for _, entry in ipairs(doubled) do
  call('LREM', base .. 'ring', 1 - entry.times, entry.group)
end
local ids = {}
for place, job in ipairs(lost) do
  ids[place] = job.id
  if job.dead then
    call('ZADD', base .. 'dead', 0, job.id)
  else
    make_ready(base, job.id, job.key, job.group, job.lane)
  end
end
close_lanes(base)
return { 'repaired', slice[1], ids }
