-- resume: claimers may take jobs from this queue again (protocol 4.18.2).
--
-- keys   meta   settings of the queue (hash)
-- args   none
-- reply  1
--
-- Nothing is moved, and a queue that was not paused stays as it is.

redis.call('HDEL', meta_key, 'paused')
return 1
