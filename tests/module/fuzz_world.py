"""Adversarial databases for the fuzzer: queues as they ought to be, with damage of every kind strewn in."""

from collections.abc import Callable
from random import Random

__all__ = ["BASE", "GROUPS", "HANGERS", "IDS", "NUMBERS", "Command", "any_key", "world"]

Command = list[bytes]

BASE = b"emq:{q}:"
IDS = [b"JOB%02d" % n for n in range(8)] + [b"JOB", b"JOB\x00x", b"JOB\xc3\xa9 \r\n", b"JOB" + b"i" * 300, b"x"]
GROUPS = [b"a", b"b", b"c", b"", b"g\x00\xff", b"l" * 300, b"\r\n", "ä".encode()]
NUMBERS = [
    *[b"%d" % n for n in (0, 1, 2, 3, 10, 1000, 1001, -1, -5, 99999999999999, 999999999999999, 9007199254740991)],
    *[b"9007199254740992", b"9223372036854775807", b"9223372036854775808", b"99999999999999999999", b"1" * 400],
    *[
        b"",
        b"+1",
        b"01",
        b"-01",
        b"1e3",
        b"-0",
        b"0x10",
        b" 1",
        b"1 ",
        b"1\x00",
        b"\x00",
        b"1.0",
        b"nan",
        b"inf",
        b"-inf",
    ],
    *["١".encode(), b"one", b"--1", b"-", b"00", b"1\n"],
]
_PLACES: list[tuple[bytes, bytes]] = [
    *[(b"pending", b"zset"), (b"active", b"zset"), (b"schedule", b"zset"), (b"dead", b"zset"), (b"lanes", b"zset")],
    *[(b"ring", b"list"), (b"wake", b"list"), (b"flow:outbox", b"list"), (b"paused", b"set"), (b"fresh_next", b"set")],
    *[(b"gactive", b"hash"), (b"glimit", b"hash"), (b"gweight", b"hash"), (b"meta", b"hash"), (b"rota", b"hash")],
    *[(b"metrics:completed", b"hash"), (b"metrics:failed", b"hash"), (b"watch", b"string")],
]
HANGERS = [b":logs", b":lock", b":dependencies", b":processed", b":failed", b":unsuccessful", b":result"]


def any_key(rng: Random) -> bytes:
    """Return some key of the queue, of any type."""
    row = BASE + b"job:" + rng.choice(IDS)
    kinds: list[Callable[[], bytes]] = [
        lambda: BASE + rng.choice(_PLACES)[0],
        lambda: row,
        lambda: row + rng.choice(HANGERS),
        lambda: BASE + b"g:" + rng.choice(GROUPS) + b":pending",
    ]
    return rng.choice(kinds)()


def _score(rng: Random, now_ms: int) -> bytes:
    near = b"%d" % (now_ms + rng.choice([-(10**7), -5, 0, 10**6, 10**9]))
    return rng.choice(
        [b"0", b"0", b"0", near, near, near, b"1.5", b"-7", b"inf", b"-inf", b"1e300", b"9007199254740993"]
    )


def _row(rng: Random, job: bytes) -> list[bytes]:
    made = rng.choice([b"0", b"0", b"1", b"1", b"2", b"5"]) if rng.random() < 0.9 else rng.choice(NUMBERS)
    fields = [b"attempts", made, b"state", rng.choice([b"pending", b"active", b"awaiting_children", b"dead", b"?"])]
    extra: list[tuple[float, bytes, Callable[[], bytes]]] = [
        (0.9, b"payload", lambda: rng.choice([b"", b"p", b"p" * 100, b"\x00"])),
        (0.4, b"group", lambda: rng.choice(GROUPS)),
        (0.2, b"unspent", lambda: rng.choice([b"0", b"1", *NUMBERS])),
        (0.2, b"max_attempts", lambda: rng.choice([b"1", b"3", *NUMBERS])),
        (0.3, b"parent", lambda: rng.choice([*IDS, job])),
        (0.1, b"parent_queue", lambda: rng.choice([b"q", b"other", b"", b"\x00"])),
        (0.2, b"parent_policy", lambda: rng.choice([b"id", b"fp", b""])),
        (0.1, rng.choice([b"claimed_at", b"died_at", b"last_error", b"odd\x00"]), lambda: rng.choice(NUMBERS)),
    ]
    for chance, name, value in extra:
        if rng.random() < chance:
            fields += [name, value()]
    return fields if rng.random() < 0.93 else fields[2:]


def _job(rng: Random, job: bytes, now_ms: int) -> list[Command]:
    row, fields = BASE + b"job:" + job, []
    if rng.random() < 0.85:
        fields = _row(rng, job)
    commands: list[Command] = [[b"HSET", row, *fields]] if fields else []
    group = fields[fields.index(b"group") + 1] if b"group" in fields[::2] else None
    lane = BASE + b"g:" + (group if group is not None else rng.choice(GROUPS)) + b":pending"
    home = BASE + b"pending" if group is None else lane
    places = [home, home, BASE + b"active", BASE + b"schedule", BASE + b"pending", lane]
    commands += [
        [b"ZADD", place, b"0" if rng.random() < 0.6 else _score(rng, now_ms), job]
        for place in rng.sample(places, rng.choice([1, 1, 2]))
    ]
    if rng.random() < 0.15:
        commands.append([b"ZADD", BASE + b"active", _score(rng, now_ms), job])
    if rng.random() < 0.3:
        commands.append([b"SET", row + b":dependencies", rng.choice([b"1", b"1", b"2", *NUMBERS])])
        if rng.random() < 0.3:
            commands.append([b"PEXPIRE", row + b":dependencies", b"1000000"])
    if rng.random() < 0.2:
        commands.append(
            [
                b"HSET",
                row + rng.choice([b":processed", b":failed", b":unsuccessful", b":result"]),
                rng.choice(IDS),
                b"r",
            ]
        )
    if rng.random() < 0.1:
        commands.append([b"RPUSH", row + b":logs", b"l"])
    if rng.random() < 0.05:
        commands.append(
            [
                b"HPEXPIRE",
                row,
                b"1" if rng.random() < 0.5 else b"900000",
                b"FIELDS",
                b"1",
                rng.choice([b"attempts", b"payload", b"group"]),
            ]
        )
    return commands


def _shared(rng: Random, now_ms: int) -> list[Command]:
    def some(chance: float, *command: bytes) -> list[Command]:
        return [list(command)] if rng.random() < chance else []

    commands: list[Command] = []
    for group in GROUPS:
        weight, limit = (rng.choice([b"1", b"2", b"5", *NUMBERS]) for _ in range(2))
        commands += some(0.5, b"RPUSH", BASE + b"ring", *[group] * rng.choice([1, 1, 1, 2]))
        commands += some(0.3, b"HSET", BASE + b"gactive", group, rng.choice([b"0", b"1", b"2", *NUMBERS]))
        commands += some(0.3, b"HSET", BASE + b"glimit", group, limit)
        commands += some(0.3, b"HSET", BASE + b"gweight", group, weight)
        commands += some(0.5, b"ZADD", BASE + b"lanes", b"0", group)
        commands += some(0.1, b"SADD", BASE + b"paused", group)
        commands += some(0.2, b"SADD", BASE + b"fresh_next", group)
    commands += some(
        0.3, b"RPUSH", BASE + b"wake", *[rng.choice([b"1", *NUMBERS]) for _ in range(rng.choice([1, 2, 63, 64, 70]))]
    )
    commands += some(0.2, b"HSET", BASE + b"meta", b"concurrency", rng.choice([b"1", b"3", b"10", *NUMBERS]))
    commands += some(0.03, b"HSET", BASE + b"meta", b"paused", b"1")
    commands += some(
        0.3, b"HSET", BASE + b"rota", rng.choice([b"flat", b"left"]), rng.choice([b"0", b"1", b"2", *NUMBERS])
    )
    commands += some(
        0.2, b"HSET", BASE + b"rota", b"turn", rng.choice(GROUPS), b"left", rng.choice([b"1", b"3", *NUMBERS])
    )
    watch = b"%b %d" % (rng.choice([b"me", b"you", b"", b"me me"]), now_ms + rng.choice([-1000, 1000, 10**6]))
    commands += some(
        0.3, b"SET", BASE + b"watch", rng.choice([watch, watch, b"", b"me", b"me ", b"me x", b"me " + b"9" * 400])
    )
    for name in (b"completed", b"failed"):
        commands += some(0.3, b"HSET", BASE + b"metrics:" + name, b"count", rng.choice([b"5", *NUMBERS]))
    fleeting = [(b"metrics:completed", b"count"), (b"metrics:failed", b"count"), (b"meta", b"concurrency")]
    fleeting += [(b"rota", b"flat"), (b"rota", b"turn"), (b"rota", b"left")]
    fleeting += [(name, rng.choice(GROUPS)) for name in (b"gactive", b"glimit", b"gweight")]
    for key, field in fleeting:
        commands += some(0.02, b"HPEXPIRE", BASE + key, rng.choice([b"1", b"900000"]), b"FIELDS", b"1", field)
    return commands


def _damage(rng: Random) -> list[Command]:
    """A key of another type, one that is gone, one that is about to be."""
    commands: list[Command] = []
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 4])):
        key = any_key(rng)
        ruin: list[list[Command]] = [
            [[b"SET", key, rng.choice(NUMBERS)]],
            [[b"DEL", key], [b"RPUSH", key, rng.choice(IDS)]],
            [[b"DEL", key], [b"SADD", key, rng.choice(IDS)]],
            [[b"DEL", key], [b"ZADD", key, b"0", rng.choice(IDS)]],
            [[b"DEL", key], [b"HSET", key, b"attempts", b"1"]],
            [[b"DEL", key], [b"XADD", key, b"*", b"f", b"v"]],
            [[b"DEL", key]],
            [[b"PEXPIRE", key, b"1"]],
            [[b"PEXPIRE", key, b"900000"]],
        ]
        commands += rng.choice(ruin)
    return commands


def _crowd(rng: Random) -> list[Command]:
    """Now and then: more ids, or lanes, than any walk looks at, and keys in their large encodings."""
    if rng.random() > 0.03:
        return []
    many, start = rng.choice([150, 1200]), rng.choice([b"JOBx", b"JOA", b"K"])
    ids = [start + b"%04d" % n for n in range(many)]
    place = BASE + rng.choice([b"pending", b"active", b"schedule", b"g:a:pending"])
    commands: list[Command] = [[b"ZADD", place, *[part for job in ids for part in (b"0", job)]]]
    if rng.random() < 0.7:
        group = [b"group", b"a"] if place.endswith(b"g:a:pending") or rng.random() < 0.1 else []
        commands += [
            [b"HSET", BASE + b"job:" + job, b"attempts", rng.choice([b"0", b"1"]), b"payload", b"p", *group]
            for job in ids
        ]
    if rng.random() < 0.4:
        commands.append([b"RPUSH", BASE + b"ring", *[rng.choice([job, b"a"]) for job in ids]])
        commands += [[b"ZADD", BASE + b"g:" + job + b":pending", b"0", rng.choice(IDS)] for job in ids[::3]]
    return commands


def world(rng: Random, now_ms: int) -> list[Command]:
    """Return commands that fill an empty database. Some of them may fail on what others made."""
    commands = _crowd(rng) + _shared(rng, now_ms)
    for job in rng.sample(IDS, rng.randint(1, len(IDS))):
        commands += _job(rng, job, now_ms)
    return commands + _damage(rng)
