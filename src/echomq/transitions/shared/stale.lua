-- stale(): the refusal of whoever does not hold the job. A reply of one word alone would be given the prefix ERR.
local function stale()
  return redis.error_reply('EMQSTALE the token is not the current one, or the job is not leased')
end
