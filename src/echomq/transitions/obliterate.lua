-- obliterate: delete a slice of a paused queue, until nothing is left (protocol 4.18.4, remedied as in docs/wire.md).
--
-- keys   meta   settings of the queue (hash)
--        base   the queue's base, itself no key
-- args   force    force: running jobs as well; empty: refuse while there are any
--        budget   how many jobs to delete, and keys of the server to look at, about; 1 to 1000; empty or left out: 1000
--        cursor   of the call before; empty or left out: 0
-- reply  0 nothing is left   a text, `0` too: more is left, call again with this cursor   EMQSTATE not paused
--        EMQSTATE active jobs present
--
-- Jobs go first, each whole: out of its set with its row and subkeys. Walking the keys then finds what no set names: held
-- parents, lanes at their limit, kept results, dedup keys, streams (W41). Each call begins with the sets, and the last one
-- ends with them, so what a producer adds meanwhile is deleted whole, or stays whole when it comes after the last call.
-- Meta goes last, so the queue is paused until nothing is left of it.
--@use bounded
--@use in_chunks
--@use is_broken
--@use delete_job
--@use own_keys
--@use scan_from

local call, sub = redis.call, string.sub
local most = bounded('budget', budget, 1000)
if call('HEXISTS', meta_key, 'paused') == 0 then
  return redis.error_reply('EMQSTATE not paused')
end
if force ~= 'force' and call('ZCARD', base_key .. 'active') > 0 then
  return redis.error_reply('EMQSTATE active jobs present')
end
local from = scan_from(cursor)
-- A cursor that is too large for the server ends the script here, before the first write.
call('SCAN', from, 'COUNT', 1)
local rows, lanes = base_key .. 'job:', base_key .. 'g:'
local sets, last = {}, { meta_key }
for place, name in ipairs({ 'active', 'pending', 'schedule', 'dead' }) do
  sets[base_key .. name], last[place + 1] = true, base_key .. name
end

-- Delete the first jobs of a set, as far as the budget goes; true when none is left. One of another type is unlinked.
local function empty(set_key)
  local ids = redis.pcall('ZRANGE', set_key, 0, most - 1)
  if ids.err and is_broken(ids) then
    return true
  end
  for place = 1, #ids do
    delete_job(rows .. ids[place])
  end
  in_chunks('ZREM', set_key, ids)
  most = most - #ids
  return most > 0
end

for place = 2, 5 do
  if not empty(last[place]) then
    return from
  end
end
local slice = call('SCAN', from, 'MATCH', own_keys(base_key), 'COUNT', most)
local doomed = {}
for _, key in ipairs(slice[2]) do
  if sub(key, 1, #lanes) == lanes and sub(key, -8) == ':pending' and not empty(key) then
    return from
  end
  if key ~= meta_key and not sets[key] then
    doomed[#doomed + 1] = key
  end
end
for first = 1, #doomed, 500 do
  call('UNLINK', unpack(doomed, first, math.min(first + 499, #doomed)))
end
if slice[1] ~= '0' then
  return slice[1]
end
call('UNLINK', unpack(last))
return 0
