-- logs: a slice of a job's log (ours, docs/wire.md).
--
-- keys   job    row of the job (hash)
--        logs   the lines, oldest first (list)
-- args   start   first line, 0 is the oldest
--        count   how many at most, 1 to 1000
-- reply  ["logs", lines in all, [lines]]   ["gone"]   WRONGTYPE a key of another type
--
-- One step: the job and its lines are of one instant (W38).
--@use bounded
--@use read_row

local first = whole('start', start, 0)
local most = bounded('count', count, 1000)
local row, broken = read_row(job_key, 'attempts')
if broken then
  return broken
end
if not row[1] then
  return { 'gone' }
end
return { 'logs', redis.call('LLEN', logs_key), redis.call('LRANGE', logs_key, first, first + most - 1) }
