-- reap: take back jobs whose lease lapsed (protocol 4.10, remedied as in docs/wire.md).
--
-- keys   active    leased jobs by lease end (zset)
--        pending   ready jobs of the flat set (zset)
-- args   base
--        limit          how many at most, 1 to 1000; empty or left out: 100 (ours)
--        max_attempts   cap of attempts spent for rows without one; empty or left out: none (ours)
--        naming         ids: name the jobs in the reply; empty or left out: count them (ours)
-- reply  how many left active. With ids: ["reaped", count, [recovered], [dead], [ghosts]]
--
-- Each job goes to its own place, or to dead when it has no attempt left (W20).
--@use bounded
--@use whole
--@use take_back

local most = bounded('limit', limit, 100)
local cap_of_all
if max_attempts and max_attempts ~= '' then
  cap_of_all = whole('max_attempts', max_attempts, 0)
end
local count, recovered, dead, ghosts = take_back(base, active_key, most, cap_of_all)
if naming == 'ids' then
  return { 'reaped', count, recovered, dead, ghosts }
end
return count
