-- obliterate: delete a slice of a paused queue, until nothing is left (protocol 4.18.4, remedied as in docs/wire.md).
--
-- keys   meta   settings of the queue (hash)
--        base   the queue's base, itself no key
-- args   force    force: running jobs as well; empty: refuse while there are any
--        budget   how many keys of the server to look at, about; 1 to 1000; empty or left out: 1000
--        cursor   of the call before; empty or left out: 0
-- reply  0 nothing is left   a text: more is left, call again with this cursor   EMQSTATE not paused
--        EMQSTATE active jobs present
--
-- Walking the keys finds what no set names: held parents, lanes at their limit, subkeys, dedup keys, streams (W41).
-- Meta goes last, so the queue is paused until nothing is left of it.
--@use bounded
--@use own_keys

local most = bounded('budget', budget, 1000)
if redis.call('HEXISTS', meta_key, 'paused') == 0 then
  return redis.error_reply('EMQSTATE not paused')
end
if force ~= 'force' and redis.call('ZCARD', base_key .. 'active') > 0 then
  return redis.error_reply('EMQSTATE active jobs present')
end
local from = cursor and cursor ~= '' and cursor or '0'
local slice = redis.call('SCAN', from, 'MATCH', own_keys(base_key), 'COUNT', most)
local doomed = {}
for _, key in ipairs(slice[2]) do
  if key ~= meta_key then
    doomed[#doomed + 1] = key
  end
end
for first = 1, #doomed, 500 do
  redis.call('UNLINK', unpack(doomed, first, math.min(first + 499, #doomed)))
end
if slice[1] ~= '0' then
  return slice[1]
end
redis.call('UNLINK', meta_key)
return 0
