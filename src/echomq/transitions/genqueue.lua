-- genqueue: admit one job that is ready to run into a lane (protocol 4.16.1).
--
-- keys   job       row of the job (hash)
--        lane      ready jobs of the group (zset)
--        ring      the rota (list)
--        paused    parked groups (set)
--        glimit    limits of groups (hash)
--        gactive   jobs in flight of groups (hash)
--        wake      wake-ups for parked workers (list)
--        lanes     live lanes (zset); left out: not kept, and only a lane that enters the ring wakes somebody (ours)
-- args   id, payload, group
--        max_attempts   cap of the job's own; empty or left out: none (ours)
-- reply  1 enqueued   0 duplicate   EMQKIND the id is no job's   WRONGTYPE the row, or a key of the lane, is of another
--        type
--@use base_of
--@use need
--@use look_lane
--@use put_in_lane
--@use admit
--@use close_lanes

local answer, fields, cap = may_admit(job_key, id, max_attempts)
if answer then
  return answer
end
local base = base_of(job_key, id)
local lane = need(look_lane(base, group))

put_in_lane(lane, id)
admit(job_key, fields, 'pending', payload, cap, group)
close_lanes(base, not lanes_key)
return 1
