-- purge: delete a slice of the jobs that died long ago (ours, docs/wire.md; W40).
--
-- keys   dead   jobs without attempts left (zset)
--        base   the queue's base, itself no key
-- args   age_ms   how long ago a job must have died
--        limit    how many ids to look at, 1 to 1000
--        after    the last id looked at by the call before; empty: from the start
-- reply  ["purged", count, next]; next empty: the walk ended
--
-- A row without `died_at` counts as of its minting, and so do ids without a job and broken rows. Ids stand in mint
-- order, and nothing dies before it is minted: the first one that is too young ends the walk.
--@use is_broken
--@use bounded
--@use now_ms
--@use counted
--@use minted_at
--@use after_id
--@use in_chunks
--@use delete_job

local most = bounded('limit', limit, 100)
local born_by = now_ms() - whole('age_ms', age_ms, 0)
local rows = base_key .. 'job:'
local ids = redis.call('ZRANGE', dead_key, after_id(after), '+', 'BYLEX', 'LIMIT', 0, most)
local old, next_after = {}, #ids == most and ids[most] or ''
for place = 1, #ids do
  local id = ids[place]
  local minted = minted_at(id)
  if minted > born_by then
    next_after = ''
    break
  end
  local row = redis.pcall('HMGET', rows .. id, 'attempts', 'died_at', 'state')
  local broken = row.err and is_broken(row)
  local is_job = not broken and row[1]
  local died = is_job and row[2] and counted(row[2]) or minted
  -- A row that says another state is a job that lives elsewhere: its id was left here as a ghost and admitted again.
  local lives = is_job and row[3] and row[3] ~= '' and row[3] ~= 'dead'
  if died <= born_by and not lives then
    old[#old + 1] = id
  end
end
in_chunks('ZREM', dead_key, old)
for place = 1, #old do
  delete_job(rows .. old[place])
end
return { 'purged', #old, next_after }
