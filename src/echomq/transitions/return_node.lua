-- return_node: give a leased node number back before its lease ends (ours, docs/wire.md).
--
-- keys   nodes    node number -> end of its lease, Unix ms of the server (zset)
--        owners   node number -> owner, a space, mark in Unix ms (hash)
-- args   owner, node
--        last_ms   the last instant that an id of this number was minted for
-- reply  ["returned"]   ["not_held"] nothing changed
--
-- The mark falls to the last instant used, so the next holder may mint for everything after it. It never rises: a
-- caller has no right to instants above its mark.
--@use whole
--@use now_ms

local last = whole('last_ms', last_ms, 0)
node = string.format('%d', whole('node', node, 0, 1023))
local entry = redis.call('HGET', owners_key, node)
if not entry or not redis.call('ZSCORE', nodes_key, node) then
  return { 'not_held' }
end
local name, mark = string.match(entry, '^(.*) (%d+)$')
if name ~= owner then
  return { 'not_held' }
end
redis.call('ZADD', nodes_key, now_ms(), node)
redis.call('HSET', owners_key, node, owner .. ' ' .. string.format('%.0f', math.min(last, tonumber(mark))))
return { 'returned' }
