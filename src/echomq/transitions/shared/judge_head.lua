-- judge_head(base, id, group, name, odd): whether the id of a ready set can be served, before anything is taken (W2).
--
-- `group` is the one whose lane it stands in, false for the flat set. Returns the job as replies tell it, `{id,
-- payload or false, token, name}`, and whether it is fresh: none of its attempts counts (docs/wire.md, take, 4). nil:
-- it is none of that set, and what is more than a ghost is added to `odd`, for `sort_out`.
--@use is_broken
--@use counted
local function judge_head(base, id, group, name, odd)
  local row = redis.pcall('HMGET', base .. 'job:' .. id, 'attempts', 'payload', 'group', 'unspent')
  local attempts, home, handed_back = row[1], row[3], row[4]
  local made = attempts and home == group and counted(attempts)
  if made then
    return { id, row[2], made + 1, name }, made <= (handed_back and counted(handed_back) or 0)
  elseif attempts then
    odd[#odd + 1] = { id = id, key = base .. 'job:' .. id, group = home, is_misplaced = home ~= group }
  elseif row.err and is_broken(row) then
    odd[#odd + 1] = { id = id }
  end
  return nil
end
