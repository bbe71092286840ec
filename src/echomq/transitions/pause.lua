-- pause: claimers take nothing from this queue until resume (protocol 4.18.2).
--
-- keys   meta   settings of the queue (hash)
-- args   none
-- reply  1
--
-- Nothing is moved: what runs goes on, and what waits stays.

-- The HDEL lets the HSET pass on a full server, where pausing is what helps.
redis.call('HDEL', meta_key, 'paused')
redis.call('HSET', meta_key, 'paused', '1')
return 1
