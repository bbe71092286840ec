-- minted_at(id): the instant an id was minted for, in Unix ms; 0 for an id of another form (protocol 1.2, 1.4).
--
-- The server admits `JOB` followed by anything, so a strange id must not break a sweep. The number has 63 bits and a
-- Lua number 53: it is kept in two parts, the low 22 bits and the ms above them, and each stays exact.
local EPOCH_MS, MS_MAX = 1704067200000, 2199023255551

local function minted_at(id)
  if #id ~= 14 then
    return 0
  end
  local ms, low = 0, 0
  for position = 4, 14 do
    local byte = string.byte(id, position)
    local digit
    if byte >= 48 and byte <= 57 then
      digit = byte - 48
    elseif byte >= 65 and byte <= 90 then
      digit = byte - 55
    elseif byte >= 97 and byte <= 122 then
      digit = byte - 61
    else
      return 0
    end
    low = low * 62 + digit
    local carry = math.floor(low / 4194304)
    low = low - carry * 4194304
    ms = ms * 62 + carry
  end
  if ms > MS_MAX then
    return 0
  end
  return ms + EPOCH_MS
end
