-- lease_node: lease a node number for minting, or renew it (ours, docs/wire.md).
--
-- keys   nodes    node number -> end of its lease, Unix ms of the server (zset)
--        owners   node number -> owner, a space, mark in Unix ms (hash)
-- args   owner      whoever mints: unique for one start of one process
--        node       the number held, or empty
--        mark_ms    up to which instant the caller wants to mint
--        lease_ms   how long the lease lasts from now
--        wish       where to look first for a number never leased; left out: 0
-- reply  ["leased", node, after, mark]   ["exhausted", ms until the first lease ends], all numbers as decimal text
--
-- Ids of one number may be minted for instants after `after` and up to `mark`. The marks of successive holders never
-- overlap, so the same id cannot be minted twice, whatever any clock says (W1).
--@use whole
--@use now_ms

-- The last instant that an id can hold is the bound of every mark.
local wanted = whole('mark_ms', mark_ms, 0, 3903090455551)
local lease = whole('lease_ms', lease_ms, 1)
if node ~= '' then
  node = string.format('%d', whole('node', node, 0, 1023))
end

local function text(number)
  return string.format('%.0f', number)
end

local function held(number)
  local entry = redis.call('HGET', owners_key, number)
  if not entry then
    return nil, nil
  end
  local name, mark = string.match(entry, '^(.*) (%d+)$')
  return name, tonumber(mark)
end

-- The first number from the wish upwards, around, that was never leased: 128 scores at a time.
local from = wish and wish ~= '' and whole('wish', wish, 0, 1023) or 0
local function never_leased()
  for step = 0, 1023, 128 do
    local numbers = {}
    for place = step, step + 127 do
      numbers[#numbers + 1] = (from + place) % 1024
    end
    for place, score in ipairs(redis.call('ZMSCORE', nodes_key, unpack(numbers))) do
      if not score then
        return text(numbers[place])
      end
    end
  end
  return nil
end

local function lease_it(number, after, mark)
  redis.call('ZADD', nodes_key, now_ms() + lease, number)
  redis.call('HSET', owners_key, number, owner .. ' ' .. text(mark))
  return { 'leased', number, text(after), text(mark) }
end

redis.call('HLEN', owners_key)
if node ~= '' and redis.call('ZSCORE', nodes_key, node) then
  local name, mark = held(node)
  if name == owner then
    return lease_it(node, mark, math.max(wanted, mark))
  end
end

local free = never_leased()
if free then
  return lease_it(free, 0, wanted)
end

local first = redis.call('ZRANGE', nodes_key, 0, 0, 'WITHSCORES')
local ends, now = tonumber(first[2]), now_ms()
if ends > now then
  return { 'exhausted', text(ends - now) }
end
-- Without a readable mark the end of the lease stands for it: the holder minted by the clock, and that is later.
local _, mark = held(first[1])
mark = mark or ends
return lease_it(first[1], mark, math.max(wanted, mark + lease))
