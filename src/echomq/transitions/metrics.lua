-- metrics: how often something happened (protocol 4.18.8).
--
-- keys   metrics   counter (hash)
--        data      reserved series (list)
-- args   none
-- reply  [count, length of the series]

local count = redis.call('HGET', metrics_key, 'count')
return { tonumber(count or 0) or 0, redis.call('LLEN', data_key) }
