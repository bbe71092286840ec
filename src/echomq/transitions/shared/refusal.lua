-- refusal(trouble, active_key, base, id, lane): the reply to a holder whose settling some damage forbids.
--
-- Whoever does not hold the job is told that first, as where nothing is damaged. `lane` is nil for an ungrouped job.
--@use stale
local function refusal(trouble, active_key, base, id, lane)
  if redis.call('ZSCORE', active_key, id) or redis.call('ZSCORE', lane and lane.key or base .. 'pending', id) then
    return redis.error_reply(trouble)
  end
  return stale()
end
