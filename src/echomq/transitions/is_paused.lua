-- is_paused: the pause gate, which a claimer reads before each published claim (protocol 0).
--
-- keys   meta    settings of the queue (hash)
-- args   none
-- reply  the field `paused`, any text: paused   null: not paused
--
-- claim_many needs no gate: it looks by itself (W33).

return redis.call('HGET', meta_key, 'paused')
