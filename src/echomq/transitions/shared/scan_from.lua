-- scan_from(text): where a walk of the server's keys goes on, as SCAN takes it; 0 for an empty text or none.
--
-- Raises an ERR reply for what is no cursor: Redis 7.0 takes `-1` for one, and finds that the walk is at its end.
local function scan_from(text)
  if not text or text == '' then
    return '0'
  end
  if string.find(text, '^%d+$') and #text <= 20 then
    return text
  end
  error({ err = 'ERR the cursor must be empty, or the one of the call before' })
end
