-- judge_head(base, id, group, name, fate): what becomes of an id of a ready set, judged before anything is taken (W2).
--
-- `group` is the one whose lane it stands in, false for the flat set. Returns nil for what is no job of that set, else
-- the job as replies tell it, `{id, payload or false, token, name}`, and whether it is fresh: none of its attempts
-- counts (docs/wire.md, take, 4). `fate` collects for `send_off` what is not served: an id with a broken row and a
-- damaged job go to `dead` (rule 3), a job of another set goes `home`, whatever its counter says. A ghost only leaves
-- the set (W4).
--@use is_broken
--@use counted
--@use miscounted
--@use look_lane
--@use look_place
local function to_dead(base, id, fate, trouble)
  if #fate.dead == 0 then
    redis.call('ZCARD', base .. 'dead')
  end
  fate.dead[#fate.dead + 1] = id
  if trouble then
    fate.damaged[#fate.damaged + 1] = { key = base .. 'job:' .. id, trouble = trouble }
  end
end

local function to_home(base, id, home, fate)
  local lane, trouble
  if home then
    lane, trouble = look_lane(base, home)
  else
    look_place(base, nil)
  end
  if trouble then
    return to_dead(base, id, fate, trouble)
  end
  fate.home[#fate.home + 1] = { id = id, group = home, lane = lane }
end

local function judge_head(base, id, group, name, fate)
  local job_key = base .. 'job:' .. id
  local row = redis.pcall('HMGET', job_key, 'attempts', 'payload', 'group', 'unspent')
  local attempts = row[1]
  if not attempts then
    if row.err and is_broken(row) then
      to_dead(base, id, fate)
    end
    return nil
  elseif row[3] ~= group then
    to_home(base, id, row[3], fate)
    return nil
  end
  local made = counted(attempts)
  if not made then
    to_dead(base, id, fate, miscounted(job_key, 'attempts'))
    return nil
  end
  local handed_back = row[4] and counted(row[4]) or 0
  return { id, row[2], made + 1, name }, made <= handed_back
end
