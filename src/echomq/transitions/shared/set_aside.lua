-- set_aside(job_key, trouble, now): write into the row of a job that goes to dead why it cannot be served.
--
-- For batches, which one damaged job must not stop (docs/wire.md, rule 3). It is no death of the job's own: nothing is
-- counted and no parent is told, so that a reprocess after the damage is mended loses nothing.
local function set_aside(job_key, trouble, now)
  redis.call('HSET', job_key, 'last_error', trouble, 'state', 'dead', 'died_at', now)
end
