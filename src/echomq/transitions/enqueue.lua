-- enqueue: admit one job that is ready to run (protocol 4.1).
--
-- keys   job       row of the job (hash)
--        pending   ready jobs of the flat set (zset)
--        wake      wake-ups for parked workers (list); left out: none is left (ours)
-- args   id, payload
--        max_attempts   cap of the job's own; empty or left out: none (ours)
-- reply  1 enqueued   0 duplicate   EMQKIND the id is no job's   WRONGTYPE the row is no hash
--
-- Policy, then existence, then write. A row without `attempts` is no job (docs/wire.md, rule 2): a field that another
-- speaker wrote to a vanished row must not make its id a duplicate for ever.
--@use admit

local answer, fields, cap = may_admit(job_key, id, max_attempts)
if answer then
  return answer
end
local lying = wake_key and redis.call('LLEN', wake_key)

redis.call('ZADD', pending_key, 0, id)
admit(job_key, fields, 'pending', payload, cap)
if lying == 0 then
  redis.call('LPUSH', wake_key, '1')
end
return 1
