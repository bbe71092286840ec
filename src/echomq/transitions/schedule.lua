-- schedule: admit one job that becomes ready at an instant (protocol 4.2).
--
-- keys   job        row of the job (hash)
--        schedule   jobs that wait for an instant (zset)
-- args   id, payload
--        mode           in: value is ms from now   at: value is Unix ms
--        value
--        max_attempts   cap of the job's own; empty or left out: none (ours)
-- reply  1 scheduled   0 duplicate   EMQKIND the id is no job's   WRONGTYPE the row is no hash
--
-- The server's clock decides when a delay ends. An instant in the past is due at once.
--@use due_at
--@use admit

return admit(job_key, schedule_key, due_at(mode, value), 'scheduled', id, payload, max_attempts)
