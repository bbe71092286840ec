-- enqueue: admit one job that is ready to run (protocol 4.1).
--
-- keys   job       row of the job (hash)
--        pending   ready jobs of the flat set (zset)
-- args   id, payload
--        max_attempts   cap of the job's own; empty or left out: none (ours)
-- reply  1 enqueued   0 duplicate   EMQKIND the id is no job's
--
-- Policy, then existence, then write. A row without `attempts` is no job (docs/wire.md, rule 2): a field that another
-- speaker wrote to a vanished row must not make its id a duplicate for ever.
--@use admit

return admit(job_key, pending_key, 0, 'pending', id, payload, max_attempts)
