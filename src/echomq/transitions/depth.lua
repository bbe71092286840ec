-- depth: how many jobs wait in a lane (protocol 4.16.12).
--
-- keys   lane   ready jobs of the group (zset)
-- args   none
-- reply  the number

return redis.call('ZCARD', lane_key)
