-- miscounted(key, field): the error text for a field of a hash that is no plain whole number.
local function miscounted(key, field)
  return 'ERR the field ' .. field .. ' of ' .. key .. ' is not a whole number'
end
