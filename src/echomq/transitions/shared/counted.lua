-- counted(text): the number that a counter's text is; nil when it is no plain decimal of at most 15 characters.
--
-- Within that bound HINCRBY and DECR cannot fail, and a Lua number is exact, also after adding a batch to it.
local function counted(text)
  if #text <= 15 and (text == '0' or string.find(text, '^%-?[1-9]%d*$')) then
    return tonumber(text)
  end
  return nil
end
