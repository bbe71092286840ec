-- turn_ring(ring_key, length, passed, tail): write that the ring's first entries were passed, and which come back.
--
-- `length` is what it held before; `tail` are groups. LPOP is allowed on a full server. A single lane comes back to
-- where it stands.
--@use in_chunks
local function turn_ring(ring_key, length, passed, tail)
  if passed == 0 or (length == 1 and #tail == 1) then
    return
  end
  redis.call('LPOP', ring_key, passed)
  in_chunks('RPUSH', ring_key, tail)
end
