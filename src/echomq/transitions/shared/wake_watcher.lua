-- wake_watcher(schedule_key, wake_key, lying, id): leave one wake-up if a job is now the first of `schedule`, so that
-- somebody watches for it (docs/wire.md, rule 12). `lying` is how many tokens lay there; nil: nobody is woken.
local function wake_watcher(schedule_key, wake_key, lying, id)
  if lying == 0 and redis.call('ZRANGE', schedule_key, 0, 0)[1] == id then
    redis.call('LPUSH', wake_key, '1')
  end
end
