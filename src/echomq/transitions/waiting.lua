-- waiting: how many jobs wait in a slice of the lanes (ours, docs/wire.md).
--
-- keys   base   the queue's base, itself no key
-- args   after   the last name that the call before looked at; empty: from the start
--        limit   how many lanes to look at, 1 to 1000
-- reply  ["waiting", jobs, next]; next empty: the walk ended
--
-- The live lanes in byte order. What is of another type is told as nothing.
--@use bounded
--@use probe

local most = bounded('limit', limit, 1000)
local from = after == '' and '-' or '(' .. after
local groups = probe('ZRANGE', base_key .. 'lanes', from, '+', 'BYLEX', 'LIMIT', 0, most) or {}
local jobs = 0
for place = 1, #groups do
  jobs = jobs + (probe('ZCARD', base_key .. 'g:' .. groups[place] .. ':pending') or 0)
end
return { 'waiting', jobs, #groups == most and groups[most] or '' }
