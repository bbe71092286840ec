-- browse: one page of a set, in its order or against it (ours, docs/wire.md; pending newest first is protocol 4.11).
--
-- keys   set    pending, active, schedule, dead or a lane (zset)
-- args   limit          how many at most, 1 to 1000
--        newest_first   1: against the set's order; empty: in it
--        after_score    score of the last member of the page before, as it was told; empty for the first page
--        after_id
-- reply  [[id, score as decimal text]...] strictly after the place given
--
-- A place is a score and an id, so it holds when the member itself is gone by now. Thousands may share one score, all
-- of dead do: the block of a score is found by counting, and the id within it by halving. Each probe reads one member.
--@use bounded
--@use byte_less

local most = bounded('limit', limit, 100)
local backwards = newest_first == '1'

-- How many members stand before the place; the member of the place itself counts when `with_it`.
local function before(score, id, with_it)
  local low = redis.call('ZCOUNT', set_key, '-inf', '(' .. score)
  local high = redis.call('ZCOUNT', set_key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = redis.call('ZRANGE', set_key, middle, middle)[1]
    if byte_less(member, id) or (with_it and member == id) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local from, upto
if backwards then
  local count = redis.call('ZCARD', set_key)
  if after_score ~= '' then
    count = before(after_score, after_id, false)
  end
  from, upto = math.max(count - most, 0), count - 1
else
  from = after_score ~= '' and before(after_score, after_id, true) or 0
  upto = from + most - 1
end
if upto < 0 then
  return {}
end

local flat = redis.call('ZRANGE', set_key, from, upto, 'WITHSCORES')
local page, pages = {}, #flat / 2
for place = 1, pages do
  local target = backwards and pages + 1 - place or place
  page[target] = { flat[2 * place - 1], flat[2 * place] }
end
return page
