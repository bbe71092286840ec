-- worth_of(text): how many wake-ups a token is worth; whatever another speaker may write is worth one.
--@use counted
local function worth_of(text)
  local worth = counted(text)
  return worth and worth >= 1 and worth <= 1000000 and worth or 1
end
