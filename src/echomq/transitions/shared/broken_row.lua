-- broken_row(id): the reply of a single-job transition to a row of another type (docs/wire.md, rule 3).
local function broken_row(id)
  return redis.error_reply('WRONGTYPE the row of ' .. id .. ' is not a hash')
end
