-- in_chunks(command, key, list): run a variadic command over a list, 500 values at a time.
--
-- Lua hands a call at most some 8000 values (W41), so a long list is cut; 500 is even, for lists of pairs.
local function in_chunks(command, key, list)
  for first = 1, #list, 500 do
    redis.call(command, key, unpack(list, first, math.min(first + 499, #list)))
  end
end
