-- close_lanes(base, published): what follows from the moves of a script, written once at the end of its writes.
--
-- For each lane that was looked at, in that order: its count in flight, its place on the ring (docs/wire.md, rule 10) and
-- in `lanes` (rule 11). Then the wake-ups of rule 12. With `published` only what protocol 4.16.1 says: no registry, and
-- the tokens `1` alone.
--
-- LREM goes from the tail, where a lane stands that was served last. Of a damaged lane only what is sound is written.
--@use look_lane
--@use probe
--@use servable
--@use in_chunks
--@use tally
--@use leave_tokens
local function close_lanes(base, published)
  if #looked == 0 and tally.flat == 0 and not tally.room then
    return
  end
  local ring_key, worth, alone = base .. 'ring', tally.flat, #looked == 1
  -- Most scripts have use for one of these lists or none, so they are made when they are needed.
  local flying, landed, entering, born, ended
  for place = 1, #looked do
    local lane = looked[place]
    local group, depth, act = lane.group, lane.depth, lane.act
    if lane.flown and alone then
      if act > 0 then
        redis.call('HSET', base .. 'gactive', group, act)
      else
        redis.call('HDEL', base .. 'gactive', group)
      end
    elseif lane.flown and act > 0 then
      flying = flying or {}
      flying[#flying + 1], flying[#flying + 2] = group, act
    elseif lane.flown then
      landed = landed or {}
      landed[#landed + 1] = group
    end
    if lane.trouble then
      if lane.left and depth == 0 and not lane.ringless then
        redis.call('LREM', ring_key, -1, group)
      end
    else
      local can = servable(lane)
      worth = worth + math.max(can - lane.could, 0)
      if can > 0 and not lane.stands then
        entering = entering or {}
        entering[#entering + 1] = group
      elseif can == 0 and lane.stands then
        redis.call('LREM', ring_key, -1, group)
      end
    end
    local lives = depth > 0 or (act or 0) > 0
    if lives ~= lane.live and act and not lane.closed and not no_registry then
      if lives then
        born = born or {}
        born[#born + 1], born[#born + 2] = 0, group
      else
        ended = ended or {}
        ended[#ended + 1] = group
      end
    end
  end
  if landed then
    in_chunks('HDEL', base .. 'gactive', landed)
  end
  if flying then
    in_chunks('HSET', base .. 'gactive', flying)
  end
  if entering then
    in_chunks('RPUSH', ring_key, entering)
  end
  local entered = entering and #entering or 0
  if published then
    leave_tokens(base, entered, entered)
    return
  end
  if born then
    in_chunks('ZADD', base .. 'lanes', born)
  end
  if ended then
    in_chunks('ZREM', base .. 'lanes', ended)
    if (probe('SCARD', base .. 'fresh_next') or 0) > 0 then
      in_chunks('SREM', base .. 'fresh_next', ended)
    end
  end
  -- Seats that have become free under the ceiling, if there is something to serve.
  local seats = tally.room and math.min(tally.ended, tally.room + tally.ended) or 0
  if seats > worth and ((probe('ZCARD', base .. 'pending') or 0) > 0 or (probe('LLEN', ring_key) or 0) > 0) then
    worth = seats
  end
  if entered > 0 or worth > 0 then
    leave_tokens(base, entered, worth)
  end
end
