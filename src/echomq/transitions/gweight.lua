-- gweight: set the share of a group in a turn of the rota, or take it away (protocol 4.16.5).
--
-- keys   gweight   weights of groups (hash)
-- args   group
--        weight   1 to 1000; empty: it has none, which stands for 1 (ours)
-- reply  1
--
-- HDEL comes first, so that a full server can be set right as well.
--@use whole

local share = weight ~= '' and whole('weight', weight, 1, 1000)
redis.call('HDEL', gweight_key, group)
if share then
  redis.call('HSET', gweight_key, group, share)
end
return 1
