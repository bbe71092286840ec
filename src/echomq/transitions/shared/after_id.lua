-- after_id(id): the lower end of a BYLEX range that begins after an id; empty: at the start.
--
-- All members of dead have the score 0, so their order is that of their bytes (protocol 1.7), and a place in it is an
-- id.
local function after_id(id)
  return id == '' and '-' or '(' .. id
end
