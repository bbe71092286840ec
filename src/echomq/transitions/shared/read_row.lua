-- read_row(job_key, ...): some fields of a row, or nil and the reply for a row of another type (docs/wire.md, rule 3).
--
-- For bodies that are not given the id: it is what follows the last `job:` of the row's key.
--@use is_broken
--@use broken_row
local function read_row(job_key, ...)
  local row = redis.pcall('HMGET', job_key, ...)
  if row.err and is_broken(row) then
    return nil, broken_row(string.match(job_key, '.*job:(.*)$'))
  end
  return row
end
