-- lanes: one page of the lanes, or one lane, with their numbers and settings (ours, docs/wire.md).
--
-- keys   base   the queue's base, itself no key
-- args   cursor   empty, or the cursor of the page before
--        limit    how many at most, 1 to 1000
--        group    empty or left out: a page; else this one alone, whatever the two say, if anything is known of it
-- reply  ["lanes", next cursor, [[group, depth, in flight, limit or "", weight or "", parked 1 or 0, oldest id or ""]...]]
--        an empty cursor ends
--
-- The live lanes come first, in byte order, so a place among them is a name. What stands only in a key of lanes that
-- has no order follows key by key, each group with the first that has it. A cursor is the key and the place in it: a
-- name, a cursor of the server with how many of its slice are told, or an index of the ring. At most 1000 entries are
-- looked at, so a page can be empty. What is damaged is told as nothing.
--@use bounded
--@use counted
--@use probe

local call = redis.call
local base = base_key
local most = bounded('limit', limit, 100)
local is_one = group ~= nil and group ~= ''
local KEYS_OF = { 'lanes', 'paused', 'gactive', 'glimit', 'gweight', 'ring' }
local HASHES = { gactive = true, glimit = true, gweight = true }

local at, place = 1, ''
if cursor ~= '' and not is_one then
  local name, rest = string.match(cursor, '^(%l+) (.*)$')
  at = nil
  for index, key in ipairs(KEYS_OF) do
    if name == key then
      at, place = index, rest
    end
  end
  local form = name == 'lanes' and '^.' or name == 'ring' and '^%d+$' or '^%d+ %d+$'
  if not at or (place ~= '' and not string.find(place, form)) or (name ~= 'lanes' and #place > 30) then
    return redis.error_reply('ERR the cursor must be empty, or the one of the page before')
  end
end

-- Each reads up to `count` groups from a place on, and says the next one; nil: the key is at its end.
local function of_live(_, from, count)
  local groups = probe('ZRANGE', base .. 'lanes', from == '' and '-' or '(' .. from, '+', 'BYLEX', 'LIMIT', 0, count)
  return groups or {}, groups and #groups == count and groups[count] or nil
end

local function of_ring(_, from, count)
  local first = tonumber(from) or 0
  local groups = probe('LRANGE', base .. 'ring', first, first + count - 1)
  return groups or {}, groups and #groups == count and string.format('%.0f', first + count) or nil
end

local function of_key(key, from, count)
  local scan, told = string.match(from, '^(%d+) (%d+)$')
  scan, told = scan or '0', tonumber(told or '0')
  local slice, width
  if HASHES[key] then
    slice, width = probe('HSCAN', base .. key, scan, 'COUNT', count), 2
  else
    slice, width = probe('SSCAN', base .. key, scan, 'COUNT', count), 1
  end
  if not slice then
    return {}, nil
  end
  local groups, held = {}, #slice[2] / width
  for entry = told + 1, math.min(told + count, held) do
    groups[#groups + 1] = slice[2][(entry - 1) * width + 1]
  end
  if told + count < held then
    return groups, string.format('%s %.0f', scan, told + count)
  end
  return groups, slice[1] ~= '0' and slice[1] .. ' 0' or nil
end

local READERS = { lanes = of_live, ring = of_ring }

-- What the keys say of each of these groups, in the order of the groups; nothing for a key that is damaged.
local function columns_of(groups)
  return {
    lanes = probe('ZMSCORE', base .. 'lanes', unpack(groups)) or {},
    paused = probe('SMISMEMBER', base .. 'paused', unpack(groups)) or {},
    gactive = probe('HMGET', base .. 'gactive', unpack(groups)) or {},
    glimit = probe('HMGET', base .. 'glimit', unpack(groups)) or {},
    gweight = probe('HMGET', base .. 'gweight', unpack(groups)) or {},
  }
end

-- Whether one of the first `count` keys has the group.
local function stands_in(count, columns, index)
  for earlier = 1, count do
    local has = columns[KEYS_OF[earlier]][index]
    if has and has ~= 0 then
      return true
    end
  end
  return false
end

local function number_of(text)
  return text and counted(text) or ''
end

local function row_of(group, columns, index)
  local lane_key = base .. 'g:' .. group .. ':pending'
  local oldest = probe('ZRANGE', lane_key, 0, 0)
  return {
    group,
    probe('ZCARD', lane_key) or 0,
    counted(columns.gactive[index] or '0') or 0,
    number_of(columns.glimit[index]),
    number_of(columns.gweight[index]),
    columns.paused[index] or 0,
    oldest and oldest[1] or '',
  }
end

if is_one then
  local columns = columns_of({ group })
  local row = row_of(group, columns, 1)
  local is_known = row[2] > 0 or stands_in(#KEYS_OF - 1, columns, 1)
  return { 'lanes', '', is_known and { row } or {} }
end

local page, known = {}, {}
local function tell(groups)
  local columns = #groups > 0 and columns_of(groups)
  for index, name in ipairs(groups) do
    if not known[name] and not stands_in(at - 1, columns, index) then
      known[name] = true
      page[#page + 1] = row_of(name, columns, index)
    end
  end
end

local budget = 1000
while at <= #KEYS_OF and #page < most and budget > 0 do
  local key = KEYS_OF[at]
  local groups, after = (READERS[key] or of_key)(key, place, math.min(most - #page, budget))
  budget = budget - #groups - 1
  tell(groups)
  place = after or ''
  if not after then
    at = at + 1
  end
end
if at > #KEYS_OF then
  return { 'lanes', '', page }
end
return { 'lanes', KEYS_OF[at] .. ' ' .. place, page }
