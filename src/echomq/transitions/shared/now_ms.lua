-- now_ms(): the server's clock in whole Unix ms (protocol 0). It stands still within one script.
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
