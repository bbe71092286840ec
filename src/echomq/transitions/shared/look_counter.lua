-- look_counter(key, field): read a counter of a hash before it is raised, as a number; 0 when it is absent.
--
-- Returns nil and an error text when HINCRBY would fail: by then a body has written.
--@use counted
--@use probe
--@use miscounted
local function look_counter(key, field)
  local text, trouble = probe('HGET', key, field)
  if not text then
    return not trouble and 0 or nil, trouble
  end
  local number = counted(text)
  if number then
    return number
  end
  return nil, miscounted(key, field)
end
