-- probe(command, key, ...): what a reading command says of a key; nil and an error text when the key is of another type.
--
-- The text is for the reply of a single-job transition, or for the one job of a batch that needs the key. Any other
-- error, as of a missing permission, is the whole call's and is raised.
local function probe(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then
    if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then
      error(reply)
    end
    return nil, 'WRONGTYPE the key ' .. key .. ' holds a value of another type'
  end
  return reply
end
