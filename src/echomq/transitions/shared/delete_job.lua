-- delete_job(job_key): delete a job's row and everything that hangs on it, in one command (docs/wire.md, rule 8; W39).
--
-- A key of any type can be deleted, and DEL is allowed on a full server, so this may be the first write of a body.
local function delete_job(job_key)
  redis.call('DEL', job_key, job_key .. ':logs', job_key .. ':lock', job_key .. ':dependencies',
    job_key .. ':processed', job_key .. ':failed', job_key .. ':unsuccessful')
end
