-- child_settled(base, parent): one child of a parent in this queue is outstanding no more; release it after the last
-- one.
--
-- Only a held parent is released: one that is dead, or runs already, stays where it is (W22). It goes to its own place.
-- The state is read at this moment, since a batch may have moved the parent itself.
--@use make_ready
local function child_settled(base, parent)
  local left = redis.call('DECR', parent.key .. ':dependencies')
  if left <= 0 and redis.call('HGET', parent.key, 'state') == 'awaiting_children' then
    make_ready(base, parent.id, parent.key, parent.group, parent.lane)
  end
end
