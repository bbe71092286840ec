"""Asks a server what its user may do.

One short script asks for all at once (`redis.acl_check_cmd`): the server tells a user so about itself, without any
right but `+eval`. Trying what may be refused would leave traces in the server's log of refusals.

Each command is asked about as it would be sent, with all of its arguments. The server looks for the keys of a command
without seeing whether it has enough arguments for that, and some versions crash where it has not.
"""

from collections.abc import Sequence
from typing import Final

from echomq.carriers.module import COMMANDS
from echomq.doctor.questions import Questions, text_of
from echomq.doctor.told import Right, Rights
from echomq.keys import NODE_OWNERS, QueueKeys
from echomq.transitions.catalogue import TRANSITIONS

__all__ = ["ON_KEYS", "RIGHTS", "rights_of"]

_KEY, _CHANNEL = "<key>", "<channel>"

_EXAMPLES: Final = """
    eval x 0 | evalsha x 0 | script load x | get <key> | set <key> x | select 0 | client setname x | ping | time
    client unblock 0 | scan 0 | subscribe <channel> | publish <channel> x
    blpop <key> 0 | llen <key> | lpop <key> | lpush <key> x | lrange <key> 0 0 | lrem <key> 0 x | ltrim <key> 0 0
    rpush <key> x
    hdel <key> x | hexists <key> x | hget <key> x | hgetall <key> | hincrby <key> x 1 | hlen <key> | hmget <key> x
    hpttl <key> fields 1 x | hscan <key> 0 | hset <key> x x | hsetnx <key> x x
    sadd <key> x | scard <key> | sismember <key> x | smismember <key> x | srem <key> x | sscan <key> 0
    zadd <key> 0 x | zcard <key> | zcount <key> 0 0 | zmscore <key> x | zrange <key> 0 0 | zrem <key> x | zscore <key> x
    decr <key> | del <key> | exists <key> | pexpire <key> 1 | unlink <key>
"""
"""A use of each command that docs/wire.md lists, and a test compares them. Nothing of it is run."""

_READS: Final = (
    "get llen lrange hexists hget hgetall hlen hmget hpttl hscan scard sismember smismember sscan zcard zcount zmscore"
    " zrange zscore exists"
)
_READING: Final = frozenset(_READS.split())

_CONTAINERS: Final = frozenset({"script", "client"})


def _named(words: Sequence[str]) -> str:
    """Return a command's name in the access lists."""
    return "|".join(words[:2]) if words[0] in _CONTAINERS else words[0]


_USES: Final = {
    _named(use.split()): tuple(use.split()) for use in _EXAMPLES.replace("\n", "|").split("|") if use.strip()
}

RIGHTS: Final = tuple(sorted(_USES))
"""The rights that echomq needs, by their names in the access lists."""

ON_KEYS: Final = frozenset(name for name, use in _USES.items() if _KEY in use)
"""Those that have a key."""

_OWN: Final = {
    f"emq.{each.name}": (f"emq.{each.name}", *(_KEY for _ in each.keys), *("1" for _ in (*each.args, *each.more_args)))
    for each in TRANSITIONS
    if each.name in COMMANDS
}

_ACL_CHECK: Final = """
local there, check = pcall(function() return redis.acl_check_cmd end)
if not there or not check then return {} end
local told, at = {}, 1
while at < #ARGV do
    local count = tonumber(ARGV[at])
    local known, granted = pcall(check, unpack(ARGV, at + 1, at + count))
    told[#told + 1] = not known and 'absent' or granted and 'granted' or 'denied'
    at = at + 1 + count
end
return told
"""
"""KEYS none. ARGV the number of words of a command, and these words, repeated. Reply: a `Right` for each.

{} where the server cannot be asked.
"""


def rights_of(ask: Questions, queue: str) -> Rights:
    """Return what the user may do, on the keys and the channel of a queue."""
    keys = QueueKeys(queue)
    stands_for = {_KEY: keys.wake.decode(), _CHANNEL: keys.events.decode()}
    uses = [[stands_for.get(word, word) for word in use] for use in (*_USES.values(), *_OWN.values())]
    uses.append(["hset", NODE_OWNERS.decode(), "x", "x"])
    words = [word for use in uses for word in (str(len(use)), *use)]
    reply = ask.ask("EVAL", "EVAL", _ACL_CHECK, 0, *words)
    if ask.refused.get("EVAL"):
        return Rights(queue=queue, commands={"eval": Right.DENIED})
    if not isinstance(reply, list) or len(reply) != len(uses):
        return Rights(queue=queue)
    *told, on_owners = (Right(text_of(each)) for each in reply)
    commands = dict(zip((*_USES, *_OWN), told, strict=True))
    may_write = any(commands[name] is Right.GRANTED for name in ON_KEYS - _READING)
    return Rights(
        queue=queue,
        commands=commands,
        keys=Right.GRANTED if may_write else Right.DENIED,
        deployment=on_owners if commands["hset"] is Right.GRANTED else Right.UNKNOWN,
    )
