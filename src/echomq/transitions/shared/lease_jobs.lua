-- lease_jobs(base, active_key, jobs, deadline): write that these jobs run, on one deadline, with the tokens they have.
--
-- `jobs` come from `judge_head`, and have left their ready set.
--@use in_chunks
local function lease_jobs(base, active_key, jobs, deadline)
  local call, rows, leases = redis.call, base .. 'job:', {}
  for place = 1, #jobs do
    local job = jobs[place]
    local id = job[1]
    call('HSET', rows .. id, 'attempts', job[3], 'state', 'active')
    leases[2 * place - 1], leases[2 * place] = deadline, id
  end
  in_chunks('ZADD', active_key, leases)
end
