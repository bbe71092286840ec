-- token_refused(attempts, token): whether a token that was given is not the current one (W37). Empty: none was given.
local function token_refused(attempts, token)
  return token and token ~= '' and (token ~= attempts or token == '0')
end
