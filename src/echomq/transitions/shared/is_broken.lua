-- is_broken(row): whether the error that a row's reading met is that its key is of another type (docs/wire.md, rule 3).
--
-- Any other error, as of a user who may not read, is the whole call's and is raised: a batch must not take every job for
-- a damaged one.
local function is_broken(row)
  if string.sub(row.err, 1, 9) ~= 'WRONGTYPE' then
    error(row)
  end
  return true
end
