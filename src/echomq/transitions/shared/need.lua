-- need(found, trouble): what a look found; its trouble, if there is one, is the reply of the script.
--
-- For single-job transitions, before the first write. Batches judge each job on its own and go on (docs/wire.md, rule
-- 3).
local function need(found, trouble)
  if trouble then
    error({ err = trouble })
  end
  return found
end
