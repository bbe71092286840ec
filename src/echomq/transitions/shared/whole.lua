-- whole(name, text, least, most): the argument as a number, if it is a whole one in that range; most may be left out.
--
-- Raises an ERR reply otherwise. It stands before the first write of a body, so a bad argument has changed nothing. The
-- handles check the same; other languages may not. Above 2^53-1 a Lua number is not exact, and `nan` fails each test.
local function whole(name, text, least, most)
  local number = tonumber(text)
  most = most or 9007199254740991
  if number and number >= least and number <= most and number == math.floor(number) then
    return number
  end
  error({ err = string.format('ERR %s must be a whole number from %d to %.0f', name, least, most) })
end
