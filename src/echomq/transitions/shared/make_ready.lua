-- make_ready(base, id, job_key, group, lane): put a job into its own ready set (docs/wire.md, rule 7; W8).
--
-- `group` and `lane` are nil for an ungrouped job. The row must be a job's: its state is written (W4). close_lanes does
-- the rest.
--@use put_in_lane
--@use tally
local function make_ready(base, id, job_key, group, lane)
  if group then
    put_in_lane(lane, id)
  else
    redis.call('ZADD', base .. 'pending', 0, id)
    tally.flat = tally.flat + 1
  end
  redis.call('HSET', job_key, 'state', 'pending')
end
