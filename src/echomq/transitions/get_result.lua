-- get_result: how a job ended, or that it has not (ours, docs/wire.md).
--
-- keys   job      row of the job (hash)
--        result   kept result (hash with a TTL)
-- args   none
-- reply  ["completed", result, attempts, completed_at]   ["waiting", state, attempts]
--        ["dead", last_error or empty, attempts]   ["gone"]   WRONGTYPE the row is no hash
--
-- A row comes first: an id that was admitted again after its completion is a job that has not ended yet.
--@use read_row

local row, broken = read_row(job_key, 'attempts', 'state', 'last_error')
if broken then
  return broken
end
if row[1] then
  if row[2] == 'dead' then
    return { 'dead', row[3] or '', row[1] }
  end
  return { 'waiting', row[2] or '', row[1] }
end
local kept = redis.call('HMGET', result_key, 'result', 'attempts', 'completed_at')
if kept[1] then
  return { 'completed', kept[1], kept[2], kept[3] }
end
return { 'gone' }
