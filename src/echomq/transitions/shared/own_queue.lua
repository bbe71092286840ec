-- own_queue(base): the name of this queue, as `parent_queue` and the outbox say it: the base is `emq:{name}:`.
local function own_queue(base)
  return string.sub(base, 6, -3)
end
