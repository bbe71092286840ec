-- metrics: how often something happened (protocol 4.18.8).
--
-- keys   metrics   counter (hash)
--        data      reserved series (list)
-- args   none
-- reply  [count, length of the series]
--
-- A counter that is no whole number counts as 0.
--@use counted

local count = redis.call('HGET', metrics_key, 'count')
return { count and counted(count) or 0, redis.call('LLEN', data_key) }
