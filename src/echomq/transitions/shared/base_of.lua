-- base_of(job_key, id): the queue's base, from the key of a job's row: the row's key is base, `job:`, id.
local function base_of(job_key, id)
  return string.sub(job_key, 1, #job_key - #id - 4)
end
