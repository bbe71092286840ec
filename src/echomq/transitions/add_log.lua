-- add_log: append a line to a job's log (protocol 4.13).
--
-- keys   job    row of the job (hash)
--        logs   the lines, oldest first (list)
-- args   line
--        keep    how many lines to keep at most; empty: all
--        token   of the claim; empty or left out: whoever asks may (ours)
-- reply  how many lines are kept   -1 gone   EMQSTALE the token is not the current one
--        WRONGTYPE a key of another type
--
-- With a token a worker that lost its lease cannot write into the log of the next attempt (W37).
--@use stale
--@use read_row
--@use token_refused
--@use whole

local row, broken = read_row(job_key, 'attempts')
if broken then
  return broken
end
local attempts = row[1]
if not attempts then
  return -1
end
if token_refused(attempts, token) then
  return stale()
end
local most
if keep ~= '' then
  most = whole('keep', keep, 1)
end
local lines = redis.call('RPUSH', logs_key, line)
if most and most < lines then
  redis.call('LTRIM', logs_key, -most, -1)
  return most
end
return lines
