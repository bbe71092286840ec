-- counts: how many jobs are in each set, and how many ended in each way (protocol 4.18.6).
--
-- keys   base   the queue's base, itself no key; then
--        set    a sorted set of the queue; repeated
-- args   metric   completed or failed; repeated
-- reply  the sizes of the sets, then the counts, in the order asked for
--
-- Sizes are read, not counted: the cost does not grow with the sets. A counter that is no whole number counts as 0.
--@use counted

local answer = {}
for at = more_keys_at, #KEYS do
  answer[#answer + 1] = redis.call('ZCARD', KEYS[at])
end
for at = more_args_at, #ARGV, more_args_width do
  local count = redis.call('HGET', base_key .. 'metrics:' .. ARGV[at], 'count')
  answer[#answer + 1] = count and counted(count) or 0
end
return answer
