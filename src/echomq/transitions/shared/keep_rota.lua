-- keep_rota(base, rota, told): write where the rota stands, as far as the ring does not say it (docs/wire.md, take, 5).
--
-- `rota` comes from go_round; `told` is what the three fields said. So is who owes its next place to a fresh job: each
-- lane whose `owes` is not what it was, `owed`. The place of the flat set is kept while jobs wait there, also when the
-- ring is empty: a lane that enters then stands behind it. A queue without lanes has none, and nothing is written.
--@use in_chunks
local function keep_rota(base, rota, told)
  local owing, free = {}, {}
  for place = 1, #rota.met do
    local lane = rota.met[place]
    local owes = lane.owes and lane.depth > 0
    if owes ~= lane.owed and not lane.trouble then
      local list = owes and owing or free
      list[#list + 1] = lane.name
    end
  end
  in_chunks('SADD', base .. 'fresh_next', owing)
  in_chunks('SREM', base .. 'fresh_next', free)

  local has_place = rota.flat.depth > 0 and (rota.length > 0 or told[1])
  local fields = { 'flat', 'turn', 'left' }
  local says = {
    has_place and string.format('%.0f', rota.ahead),
    rota.unfinished,
    rota.unfinished and string.format('%.0f', rota.share),
  }
  for place = 1, 3 do
    if says[place] and says[place] ~= told[place] then
      redis.call('HSET', base .. 'rota', fields[place], says[place])
    elseif told[place] and not says[place] then
      redis.call('HDEL', base .. 'rota', fields[place])
    end
  end
end
