-- leave_sets(lanes): take out of each lane, or of the flat set, what serve_lane decided: one ZREM for each.
--
-- ZREM is allowed on a full server, and whatever follows a script's first write is as well.
--@use in_chunks
local function leave_sets(lanes)
  for place = 1, #lanes do
    local goes = lanes[place].goes
    if goes then
      in_chunks('ZREM', lanes[place].key, goes)
    end
  end
end
