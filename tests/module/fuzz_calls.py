"""Command vectors for the fuzzer: calls that mostly make sense, so that they reach deep, and ones that never did."""

from dataclasses import dataclass
from random import Random

from echomq.transitions.call import Transition
from tests.module.fuzz_world import BASE, GROUPS, HANGERS, IDS, NUMBERS, any_key

__all__ = ["Vector", "vector"]

_BELOW = {"job", "lane", "base"}
_PLAIN: dict[str, list[bytes]] = {
    "payload": [b"", b"p", b"\x00\xff", b"p" * 2000],
    "result": [b"", b"r", b"\x00"],
    "reason": [b"", b"boom", b"a\x00b\r\n"],
    "worth": [b"", b"beat", b"1", b"7", b"1000"],
    "watcher": [b"", b"me", b"you", b"w" * 64, b"w" * 65, b"a b", b"\xff"],
    "naming": [b"", b"ids", b"id", b"x"],
    "lease_ms": [b"1", b"1000", b"900000"],
    "size": [b"", b"1", b"3", b"10", b"100", b"1000"],
    "limit": [b"", b"1", b"3", b"100", b"1000"],
    "cap": [b"", b"1", b"3", b"100"],
    "max_attempts": [b"", b"1", b"2", b"5"],
    "delay_ms": [b"0", b"1000"],
    "result_ttl_ms": [b"", b"0", b"1000000"],
    "park_ms": [b"", b"1", b"1000", b"3600000"],
}


@dataclass(frozen=True, slots=True)
class Vector:
    """A command, the transition it is of, and whether its keys are those that the script's caller would name."""

    transition: Transition
    parts: list[bytes]
    is_proper: bool

    @property
    def command(self) -> list[bytes]:
        return [b"EMQ." + self.transition.name.upper().encode(), *self.parts]


class _Draw:
    """The choices of one call, which hang together: the row key is that of the id, the token that of the row."""

    def __init__(self, rng: Random, tokens: dict[bytes, bytes]) -> None:
        self.rng, self.tokens = rng, tokens
        self.job, self.group = rng.choice(IDS), rng.choice(GROUPS)
        self.odd = rng.choice([0.0, 0.0, 0.05, 0.3])

    def key(self, name: str) -> bytes:
        below = {"job": b"job:" + self.job, "lane": b"g:" + self.group + b":pending", "base": b""}
        return BASE + (below[name] if name in _BELOW else name.encode())

    def arg(self, name: str) -> bytes:
        if self.rng.random() < self.odd:
            return self.rng.choice(NUMBERS + IDS + GROUPS)
        match name:
            case "id":
                return self.job
            case "group":
                return self.group
            case "base":
                return BASE
            case "token":
                return self.tokens.get(self.job, b"1") if self.rng.random() < 0.9 else self.rng.choice(NUMBERS)
        return self.rng.choice(_PLAIN[name])

    def again(self) -> None:
        self.job, self.group = self.rng.choice(IDS), self.rng.choice([b"", *GROUPS])


def vector(rng: Random, transitions: list[Transition], tokens: dict[bytes, bytes]) -> Vector:
    """Return one call. `tokens` tells the attempts of the rows by their ids."""
    transition, draw = rng.choice(transitions), _Draw(rng, tokens)
    keys = [draw.key(name) for name in transition.keys]
    args = [draw.arg(name) for name in transition.args]
    if transition.more_args:
        for _ in range(
            rng.choice([0, 1, 1, 2, 3, 8, 20]) if rng.random() < 0.98 else rng.choice([300, 999, 1000, 1001])
        ):
            draw.again()
            args += [draw.arg(name) for name in transition.more_args]
    elif transition.optional and rng.random() < 0.5:
        args = args[: len(args) - rng.randint(1, transition.optional)]
    if rng.random() < 0.8:
        # Where genqueue's row is another job's, the script takes something for the base that is none.
        is_told = transition.name != "genqueue" or keys[0] == BASE + b"job:" + args[0]
        return Vector(transition, keys + args, is_proper=is_told)
    return Vector(transition, _spoiled(rng, keys, args, draw.job), is_proper=False)


def _spoiled(rng: Random, keys: list[bytes], args: list[bytes], job: bytes) -> list[bytes]:
    parts = keys + args
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(parts)) if parts else 0
        match rng.randrange(10):
            case 9 if parts:
                parts[rng.randrange(min(len(keys), len(parts)))] = BASE + b"job:" + job + rng.choice(HANGERS)
            case 0 | 1 | 2 if parts:
                parts[at] = any_key(rng)
            case 3 if parts:
                parts[at] = rng.choice(parts)
            case 4 if parts:
                parts[at] = rng.choice(
                    [b"", b"emq:{q}", b"\x00", b"x" * rng.choice([255, 256, 257, 5000]), BASE + b"job:"]
                )
            case 5 if parts:
                del parts[at]
            case 6:
                parts += rng.choices(NUMBERS, k=rng.choice([1, 2, 3, 400]))
            case 7 if parts and rng.random() < 0.1:
                parts[at] = b"B" * rng.choice([1 << 16, 3 << 20])
            case _ if parts:
                parts[at] = rng.choice(NUMBERS)
    return parts
