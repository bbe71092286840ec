-- child_settled(base, parent): one child of a parent in this queue is outstanding no more; release it after the last one.
--
-- Only a held parent is released: one that is dead, or runs already, stays where it is (W22). It goes to its own place.
--@use make_ready
local function child_settled(base, parent)
  local left = redis.call('DECR', parent.key .. ':dependencies')
  if left <= 0 and parent.state == 'awaiting_children' then
    make_ready(base, parent.id, parent.key, parent.group, parent.lane)
    parent.state = 'pending'
  end
end
