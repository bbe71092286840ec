-- byte_less(left, right): whether one text stands before another in byte order, which is the order of a sorted set.
--
-- Lua's own `<` follows the locale of the server, so it cannot be used. The bound is the length of an id.
local function byte_less(left, right)
  local length = math.min(#left, #right)
  for place = 1, length do
    local one, other = string.byte(left, place), string.byte(right, place)
    if one ~= other then
      return one < other
    end
  end
  return #left < #right
end
