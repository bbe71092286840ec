-- attempts_spent(job_key, attempts, unspent, own_cap, cap): whether no attempt is left (docs/wire.md, rule 5).
--
-- The row's own cap stands in for the caller's; without any there is always one left. nil and an error text when one of
-- the numbers is none.
--@use counted
--@use miscounted
local function attempts_spent(job_key, attempts, unspent, own_cap, cap)
  local made, handed_back, own = counted(attempts), counted(unspent or '0'), counted(own_cap or '0')
  if not made then
    return nil, miscounted(job_key, 'attempts')
  elseif not handed_back then
    return nil, miscounted(job_key, 'unspent')
  elseif not own then
    return nil, miscounted(job_key, 'max_attempts')
  end
  cap = own_cap and own or cap
  return cap ~= nil and made - handed_back >= cap
end
