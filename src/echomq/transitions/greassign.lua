-- greassign: move one waiting job to another lane (protocol 4.16.9).
--
-- keys   job       row of the job (hash)
--        lane      ready jobs of the destination (zset)
--        ring      the rota (list)
--        paused    parked groups (set)
--        glimit    limits of groups (hash)
--        gactive   jobs in flight of groups (hash)
--        wake      wake-ups for parked workers (list)
-- args   id
--        destination   the other group
--        base          the queue's base
-- reply  1 moved   0 it is of that group   -1 gone, or of no group   -2 it does not wait in its lane
--        WRONGTYPE the row, or a key of a lane, is of another type
--@use is_broken
--@use broken_row
--@use need
--@use look_lane
--@use put_in_lane
--@use take_from_lane
--@use close_lanes

local row = redis.pcall('HMGET', job_key, 'attempts', 'group')
if row.err and is_broken(row) then
  return broken_row(id)
end
if not row[1] or not row[2] then
  return -1
end
if row[2] == destination then
  return 0
end
local from, to = need(look_lane(base, row[2])), need(look_lane(base, destination))
-- ZREM is the last look and the first write at once; it is allowed on a full server.
if not take_from_lane(from, id) then
  return -2
end
redis.call('HSET', job_key, 'group', destination)
put_in_lane(to, id)
close_lanes(base)
return 1
