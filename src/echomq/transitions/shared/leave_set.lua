-- leave_set(lane): take out of a lane, or of the flat set, the ids that `serve_lane` or `serve_heads` stepped over.
--
-- These are all before `old`, and those of a run of fresh jobs that was taken out of the order. Some 500 at a time,
-- since Lua hands a call at most some 8000 values. ZREM is allowed on a full server, and whatever follows a script's
-- first write is as well.
local function leave_set(lane)
  local from, upto, next_from = 1, lane.old - 1, lane.run_began
  for _ = 1, next_from and 2 or 1 do
    for first = from, upto, 500 do
      redis.call('ZREM', lane.key, unpack(lane.ids, first, math.min(first + 499, upto)))
    end
    from, upto = next_from, lane.run and lane.run - 1
  end
end
