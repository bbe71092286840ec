-- make_ready(base, id, job_key, group, lane): put a job into its own ready set (docs/wire.md, rule 7; W8).
--
-- `group` and `lane` are nil for an ungrouped job. The row must be a job's: its state is written (W4).
--@use enter_ring
local function make_ready(base, id, job_key, group, lane)
  if group then
    redis.call('ZADD', lane.key, 0, id)
    enter_ring(base, group, lane)
  else
    redis.call('ZADD', base .. 'pending', 0, id)
  end
  redis.call('HSET', job_key, 'state', 'pending')
end
