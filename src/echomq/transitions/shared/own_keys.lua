-- own_keys(prefix): a SCAN pattern for the keys that begin with a prefix, whatever characters it has.
local function own_keys(prefix)
  return string.gsub(prefix, '[%*%?%[%]\\]', '\\%0') .. '*'
end
