-- extend_many: move the leases of many jobs forward, to one common deadline (protocol 4.12).
--
-- keys   active   leased jobs by lease end (zset)
-- args   base, lease_ms, then
--        id, token; repeated, at most 1000 times
-- reply  the ids whose lease was not extended: stale, gone, not leased, or with a row that is no hash
--
-- It never creates a lease (W5).
--@use is_broken
--@use whole
--@use now_ms
--@use in_chunks

local call, pcall = redis.call, redis.pcall
local lease = whole('lease_ms', lease_ms, 1)
local count = (#ARGV - more_args_at + 1) / more_args_width
if count > 1000 then
  return redis.error_reply('ERR extend_many takes at most 1000 jobs')
end
local deadline, rows = now_ms() + lease, base .. 'job:'
local refused, leases = {}, {}
for at = more_args_at, #ARGV, 2 do
  local id, token = ARGV[at], ARGV[at + 1]
  local row = pcall('HMGET', rows .. id, 'attempts')
  local broken = row.err and is_broken(row)
  if not broken and row[1] == token and token ~= '0' and call('ZSCORE', active_key, id) then
    local used = #leases
    leases[used + 1], leases[used + 2] = deadline, id
  else
    refused[#refused + 1] = id
  end
end
if #leases > 0 then
  -- ZREM opens the block of writes: on a full server ZADD alone would be refused and every lease lost.
  call('ZREM', active_key, leases[2])
  in_chunks('ZADD', active_key, leases)
end
return refused
