-- reprocess: make a dead job ready again (protocol 4.15, remedied as in docs/wire.md).
--
-- keys   job       row of the job (hash)
--        dead      jobs without attempts left (zset)
--        pending   ready jobs of the flat set (zset)
-- args   id
--        fresh   1: its cap counts anew; empty or left out: it has the attempts it has left (ours)
-- reply  1 ready   -1 gone   EMQSTATE the job is not dead   WRONGTYPE the row is no hash
--
-- A grouped job goes to its own lane, so it stays within the group's limit (W8).
--@use is_broken
--@use broken_row
--@use base_of
--@use counted
--@use miscounted
--@use look_place
--@use revive
--@use close_lanes

local row = redis.pcall('HMGET', job_key, 'attempts', 'group')
if row.err and is_broken(row) then
  return broken_row(id)
end
if not row[1] then
  return -1
end
if not redis.call('ZSCORE', dead_key, id) then
  return redis.error_reply('EMQSTATE ' .. id .. ' is not dead')
end
local base, group = base_of(job_key, id), row[2] or nil
local lane = look_place(base, group)
if not counted(row[1]) then
  return redis.error_reply(miscounted(job_key, 'attempts'))
end
-- ZREM comes first: it is allowed on a full server, and whatever follows a script's first write is as well.
redis.call('ZREM', dead_key, id)
revive(base, id, job_key, row[1], group, lane, fresh)
close_lanes(base)
return 1
