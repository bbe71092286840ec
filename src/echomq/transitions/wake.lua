-- wake: a worker that parks no more passes on the wake-up it may have got (ours, docs/wire.md).
--
-- keys   wake      wake-ups for parked workers (list)
--        ring      the rota (list)
--        pending   ready jobs of the flat set (zset)
--        base      the queue's base, itself no key
-- args   worth     how many wake-ups, 1 to 1000
--        watcher   its name, or empty
-- reply  1 a wake-up was passed on   0
--
-- Nothing is passed on when nothing can be served, or a token lies there already. Its promise to look after what is
-- due is taken back; then one is woken to look after it, if anything is scheduled or leased. DEL comes first: it is
-- allowed on a full server, and whatever follows a script's first write is as well.
--@use whole
--@use need
--@use probe

local call = redis.call
local share = math.min(whole('worth', worth, 1), 1000)
local watch_key = base_key .. 'watch'
local watching = watcher and watcher ~= '' and need(probe('GET', watch_key))
local idle = need(probe('LLEN', wake_key)) == 0
local is_servable = need(probe('LLEN', ring_key)) > 0 or need(probe('ZCARD', pending_key)) > 0

local gives_up = watching and string.match(watching, '^(%S+) ') == watcher
if gives_up and idle and not is_servable then
  is_servable = need(probe('ZCARD', base_key .. 'schedule')) + need(probe('ZCARD', base_key .. 'active')) > 0
  share = 1
end

if gives_up then
  call('DEL', watch_key)
end
if not (idle and is_servable) then
  return 0
end
call('DEL', wake_key)
call('LPUSH', wake_key, string.format('%.0f', share))
return 1
