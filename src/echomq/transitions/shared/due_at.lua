-- due_at(mode, value): the Unix ms that a mode and a value stand for: `in` counts from the server's clock, `at` is it.
--@use now_ms
--@use whole
local function due_at(mode, value)
  if mode == 'in' then
    return now_ms() + whole('the delay in ms', value, 0)
  end
  return whole('the instant in ms', value, 0)
end
