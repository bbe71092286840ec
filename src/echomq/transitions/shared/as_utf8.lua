-- as_utf8(bytes): the text, with U+FFFD for each byte that is not part of valid UTF-8.
--
-- JSON is UTF-8, and cjson passes bytes through as they are: a listener that parses strictly would drop the event. The
-- ordinary case, plain ASCII, is one search. Forms that are too long and surrogates are not valid.
local function as_utf8(bytes)
  if not string.find(bytes, '[\128-\255]') then
    return bytes
  end
  local parts, at = {}, 1
  while at <= #bytes do
    local one, two, three, four = string.byte(bytes, at, at + 3)
    local function tail(byte, least, most)
      return byte and byte >= (least or 128) and byte <= (most or 191)
    end
    local length = 0
    if one < 128 then
      length = 1
    elseif one >= 194 and one <= 223 and tail(two) then
      length = 2
    elseif one >= 224 and one <= 239 and tail(two, one == 224 and 160, one == 237 and 159) and tail(three) then
      length = 3
    elseif one >= 240 and one <= 244 and tail(two, one == 240 and 144, one == 244 and 143) and tail(three)
      and tail(four) then
      length = 4
    end
    parts[#parts + 1] = length > 0 and string.sub(bytes, at, at + length - 1) or '\239\191\189'
    at = at + math.max(length, 1)
  end
  return table.concat(parts)
end
