"""One turn of one lane: gclaim, gwclaim, gbclaim (protocol 4.16.2 to 4; docs/wire.md)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.heads import Passed, lease
from echomq.model.jobs import Job
from echomq.model.keyspace import Keyspace
from echomq.model.manners import Reads
from echomq.model.rota import Name
from echomq.model.script import Script
from echomq.model.stalls import StallOf, open_stall
from echomq.resp.reply import Reply

__all__ = ["BODIES"]

ENTRIES_MAX: Final = 100
"""How many entries of the ring one claim tries."""

ROWS_MAX: Final = 1000
"""How many rows it reads."""

CAP: Final = 100
"""How many jobs gbclaim takes at most unless told."""


def gclaim(space: Keyspace, given: Given) -> Reply:
    """Lease the oldest job of the lane whose turn it is: [id, payload, token, group], or [], or [paused]."""
    if _is_paused(space, given):
        return [b"paused"]
    jobs = _turn(space, given, lambda _: 1)
    return jobs[0] if jobs else []


def gwclaim(space: Keyspace, given: Given) -> Reply:
    """Lease as many jobs as the lane whose turn it is weighs: [[id, payload, token, group]…], or [paused]."""
    return [b"paused"] if _is_paused(space, given) else _turn(space, given, lambda stall: stall.weight)


def gbclaim(space: Keyspace, given: Given) -> Reply:
    """Lease all jobs of the lane whose turn it is, up to a cap: [[id, payload, token, group]…], or [paused]."""
    cap = given.limit("cap", default=CAP)
    return [b"paused"] if _is_paused(space, given) else _turn(space, given, lambda _: cap)


def _is_paused(space: Keyspace, given: Given) -> bool:
    return "meta" in given.keys and b"paused" in space.hash(given.keys["meta"])


def _turn(space: Keyspace, given: Given, share: Callable[[StallOf], int]) -> list[Reply]:
    script, ring, active = Script(space, given.names), space.list(given.keys["ring"]), space.zset(given.keys["active"])
    walk = _Walk(script, share)
    for group in ring.slice(0, ENTRIES_MAX):
        if walk.log or not walk.reads.left:
            break
        walk.try_entry(group)
    ring.drop_first(walk.tried)
    for group in walk.back:
        ring.push(group)
    for group, stall in walk.met.items():
        if stall is not None:
            stall.leave()
            script.lane(group).stands = script.lane(group).now.serviceable
    until_ms = space.now_ms + given.number("lease_ms")
    jobs: list[Reply] = [[*lease(active, job, until_ms), group] for group, job in walk.log]
    script.met(walk.met)
    walk.passed.send_off(script)
    script.close()
    return jobs


@dataclass(slots=True)
class _Walk:
    """The search for the first lane that can be served. `tried` entries are done with, `back` go to the tail."""

    script: Script
    share: Callable[[StallOf], int]
    reads: Reads = field(default_factory=lambda: Reads(ROWS_MAX))
    passed: Passed = field(default_factory=Passed)
    met: dict[bytes, StallOf | None] = field(default_factory=dict)
    log: list[tuple[Name, Job]] = field(default_factory=list)
    back: list[bytes] = field(default_factory=list)
    tried: int = 0

    def try_entry(self, group: bytes) -> None:
        """Let a lane serve, if it can; one that stands on the ring twice does so once."""
        self.tried += 1
        if group in self.met:
            return
        stall = open_stall(self.script, group, self.passed, self.log)
        self.met[group] = stall if isinstance(stall, StallOf) else None
        if not isinstance(stall, StallOf):
            self.back.append(group)  # a damaged lane keeps its place
        elif stall.servable:
            stall.line.has_manners = False
            served = stall.serve(self.share(stall), self.reads)
            if stall.servable and served:
                self.back.append(group)
            elif stall.servable:
                self.tried -= 1  # all rows that may be read were no jobs: the next claim goes on with this lane


BODIES: Final[Bodies] = {"gclaim": gclaim, "gwclaim": gwclaim, "gbclaim": gbclaim}
