-- as_utf8(bytes): the text, with U+FFFD for each byte that is not part of valid UTF-8.
--
-- JSON is UTF-8, and cjson passes bytes through as they are: a listener that parses strictly would drop the event. The
-- text is walked once: a run of ASCII, a run of bytes that begin nothing, or one character at a time. Forms that are too
-- long and surrogates are not valid.
local function form_of(byte)
  if byte < 128 then
    return '^[%z\1-\127]+'
  elseif byte < 194 or byte > 244 then
    return nil
  elseif byte < 224 then
    return '^.[\128-\191]'
  elseif byte < 240 then
    return byte == 224 and '^.[\160-\191][\128-\191]' or byte == 237 and '^.[\128-\159][\128-\191]'
      or '^.[\128-\191][\128-\191]'
  end
  return byte == 240 and '^.[\144-\191][\128-\191][\128-\191]' or byte == 244 and '^.[\128-\143][\128-\191][\128-\191]'
    or '^.[\128-\191][\128-\191][\128-\191]'
end

local function as_utf8(bytes)
  if not string.find(bytes, '[\128-\255]') then
    return bytes
  end
  local parts, at = {}, 1
  while at <= #bytes do
    local form = form_of(string.byte(bytes, at))
    local _, last = string.find(bytes, form or '^[\128-\193\245-\255]+', at)
    if form and last then
      parts[#parts + 1] = string.sub(bytes, at, last)
    else
      last = last or at
      parts[#parts + 1] = string.rep('\239\191\189', last - at + 1)
    end
    at = last + 1
  end
  return table.concat(parts)
end
