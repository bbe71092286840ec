-- child_completed(base, parent, id, result): tell a flow parent that a child is done, once (protocol 4.6, 4.17.6).
--
-- `parent` comes from look_parent. A child is counted when its row is retired, whether it was still leased or not (W3).
-- HSETNX makes a second completion harmless. A child whose death was ignored has been counted then.
--@use child_settled
local function child_completed(base, parent, id, result)
  if parent.queue then
    redis.call('RPUSH', base .. 'flow:outbox', table.concat({ parent.queue, parent.id, id, result }, '\0'))
    return
  end
  -- A batch may have completed the parent as well: it must not come back as a skeleton (W22).
  if redis.call('HEXISTS', parent.key, 'attempts') == 0 then
    return
  end
  if redis.call('HSETNX', parent.key .. ':processed', id, result) == 1
    and redis.call('HEXISTS', parent.key .. ':unsuccessful', id) == 0 then
    child_settled(base, parent)
  end
end
