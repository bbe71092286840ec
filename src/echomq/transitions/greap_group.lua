-- greap_group: take back the jobs of one group whose lease lapsed (protocol 4.16.11, remedied as in docs/wire.md).
--
-- keys   active   leased jobs by lease end (zset)
--        base     the queue's base, itself no key
-- args   group
--        limit          how many lapsed ids to look at, 1 to 1000; empty or left out: 100
--        max_attempts   cap of attempts spent for rows without one; empty or left out: none (ours)
-- reply  how many left active
--
-- Each as in reap. Lapsed jobs of other groups, and of none, stay where they are.
--@use bounded
--@use whole
--@use take_back

local most = bounded('limit', limit, 100)
local cap_of_all
if max_attempts and max_attempts ~= '' then
  cap_of_all = whole('max_attempts', max_attempts, 0)
end
local count = take_back(base_key, active_key, most, cap_of_all, group)
return count
