-- gpause: park a group: its lane is not served until it is resumed (protocol 4.16.6).
--
-- keys   paused   parked groups (set)
--        ring     the rota (list)
-- args   group
-- reply  1
--
-- What waits and what runs stays. Linear in the ring. LREM comes first: it is allowed on a full server, and whatever
-- follows a script's first write is as well.

redis.call('SISMEMBER', paused_key, group)
redis.call('LREM', ring_key, 0, group)
redis.call('SADD', paused_key, group)
return 1
