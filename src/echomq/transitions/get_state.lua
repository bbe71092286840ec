-- get_state: where a job is (protocol 4.18.7, lanes included as in docs/wire.md).
--
-- keys   pending    ready jobs of the flat set (zset)
--        active     leased jobs by lease end (zset)
--        schedule   jobs that wait for an instant (zset)
--        dead       jobs without attempts left (zset)
--        job        row of the job (hash)
-- args   id
-- reply  pending   active   scheduled   dead   awaiting_children   unknown (in no place)   absent
--        WRONGTYPE no set has the id, and the row is no hash
--
-- The sets decide, and the row only where no set has the id. A job that waits in its lane is pending (D11).
--@use is_broken
--@use broken_row
--@use base_of

if redis.call('ZSCORE', pending_key, id) then
  return 'pending'
end
if redis.call('ZSCORE', active_key, id) then
  return 'active'
end
if redis.call('ZSCORE', schedule_key, id) then
  return 'scheduled'
end
if redis.call('ZSCORE', dead_key, id) then
  return 'dead'
end
local row = redis.pcall('HMGET', job_key, 'state', 'group')
if row.err and is_broken(row) then
  return broken_row(id)
end
if not row[1] then
  return 'absent'
end
if row[2] and redis.call('ZSCORE', base_of(job_key, id) .. 'g:' .. row[2] .. ':pending', id) then
  return 'pending'
end
return row[1] == 'awaiting_children' and 'awaiting_children' or 'unknown'
