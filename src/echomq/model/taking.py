"""The worker's own claim: take, and wake for who parks no more (docs/wire.md)."""

from dataclasses import dataclass, field
from math import inf
from typing import Final

from echomq.model.given import Bodies, Given
from echomq.model.heads import Passed, lease, paused
from echomq.model.jobs import Job
from echomq.model.keyspace import Keyspace
from echomq.model.manners import Reads
from echomq.model.parking import has_instants, look_to_park, park, watch_of
from echomq.model.rota import SPARE, Name, Rota, Stall, Unfinished, Walked, flat_place, walk
from echomq.model.script import Script, ceiling_of
from echomq.model.stalls import WEIGHT_MAX, StallOf, open_stall
from echomq.model.view import counted
from echomq.model.waking import WORTH_MAX, halves, worth_of
from echomq.resp.reply import Reply

__all__ = ["BODIES"]

PARK_MS: Final = 1000
"""How long a caller offers to park unless it says so."""


def take(space: Keyspace, given: Given) -> Reply:
    """Lease jobs for a worker's free slots, lanes and flat set in turn.

    [word, more, due, wait_ms, [broken ids], [[id, payload, token, group or empty]…]] with `taken`, `empty` or `full`;
    or [paused].
    """
    script, size = Script(space, given.names), given.limit("size")
    if paused(script):
        return [b"paused"]
    the = _Take(script, size)
    the.plan()
    watcher = given.args["watcher"]
    deadline = space.now_ms + given.number("lease_ms")
    instant = look_to_park(space, given.names, watcher) if the.may_park else inf
    jobs = the.write(deadline)
    more, due, wait_ms = the.more(), 0, 0
    if more:
        the.hand_on(given.args["worth"])
    else:
        space.delete(given.keys["wake"])
        if len(jobs) < size:
            instant = min(instant, deadline) if jobs else instant
            due, wait_ms = park(space, given.names, watcher, instant, given.number("park_ms", PARK_MS))
    word = b"full" if the.room <= 0 else b"taken" if jobs else b"empty"
    return [word, int(more), due, wait_ms, [*the.passed.broken], jobs]


@dataclass
class _Take:
    """One take: what it plans, then what it writes, then what it says."""

    script: Script
    size: int
    room: int = field(init=False)
    passed: Passed = field(default_factory=Passed)
    served: list[tuple[Name, Job]] = field(default_factory=list)
    walked: Walked | None = None
    _seats: int | None = field(init=False, default=None)
    _stalls: dict[Name, Stall] = field(init=False, default_factory=dict)
    _had_lanes: bool = field(init=False, default=False)
    _is_written: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        space, names = self.script.space, self.script.names
        self._wake, self._active = space.list(names.of(b"wake")), space.zset(names.of(b"active"))
        most = ceiling_of(space, names)
        if most is not None:
            self._seats = most - len(self._active)
        self.room = self.size if self._seats is None else min(self.size, self._seats)

    # --- 1 to 4: looking --------------------------------------------------------------------------------------------

    def plan(self) -> None:
        """Walk the rota and decide who is served. Nothing is written yet. Raises `Damage`.

        At the ceiling no set is looked at.
        """
        if self.room > 0:
            space, names = self.script.space, self.script.names
            self._ring, self._pending = space.list(names.of(b"ring")), space.zset(names.of(b"pending"))
            self._told, self._owing = space.hash(names.of(b"rota")), space.set(names.of(b"fresh_next"))
            self._had_lanes = len(self._ring) > 0
            self.walked = walk(self._rota(), self._stall, room=self.room, reads=Reads(self.room + SPARE))

    def _rota(self) -> Rota:
        told, ring = self._told, tuple(self._ring)
        flat = flat_place(counted(told.get(b"flat") or b""), len(ring)) if len(self._pending) else None
        turn, left = told.get(b"turn"), counted(told.get(b"left") or b"")
        if turn is None or left is None or left < 1:
            return Rota(ring, flat)
        return Rota(ring, flat, Unfinished(turn, min(left, WEIGHT_MAX)))

    def _stall(self, name: Name) -> Stall:
        if name not in self._stalls:
            stall = open_stall(self.script, name, self.passed, self.served)
            if isinstance(stall, StallOf):
                stall.line.owes = (name or b"") in self._owing
            self._stalls[name] = stall
        return self._stalls[name]

    @property
    def may_park(self) -> bool:
        """Whether the caller may have to park: it gets less than it asked for, and would not find more at once."""
        return len(self.served) < self.size and not self.more()

    # --- 5: writing -------------------------------------------------------------------------------------------------

    def write(self, until_ms: int) -> list[Reply]:
        """Write what was planned, and return the jobs as replies tell them."""
        if self.walked is None:
            return []
        script, rota = self.script, self.walked.rota
        stalls = [stall for stall in self._stalls.values() if isinstance(stall, StallOf)]
        for stall in stalls:
            stall.leave()
        self._ring.replace(rota.ring)
        for group in self.walked.met:
            lane = script.lane(group)
            lane.stands = lane.trouble is None and lane.now.serviceable
        self._write_owing(stalls)
        self._write_rota(rota)
        jobs: list[Reply] = [[*lease(self._active, job, until_ms), name or b""] for name, job in self.served]
        script.met(self.walked.met)
        self.passed.send_off(script)
        script.close()
        self._is_written = True
        return jobs

    def _write_owing(self, stalls: list[StallOf]) -> None:
        for stall in stalls:
            if stall.line.owes and stall.line.waiting:
                self._owing.add(stall.group or b"")
            else:
                self._owing.remove(stall.group or b"")
        if not len(self._pending):
            self._owing.remove(b"")

    def _write_rota(self, rota: Rota) -> None:
        told, turn = self._told, rota.unfinished
        if rota.flat is None or not len(self._pending):
            told.remove(b"flat")
        elif self._had_lanes or b"flat" in told:
            told.set(b"flat", rota.flat)
        if turn is None:
            told.remove(b"turn", b"left")
        else:
            told.set(b"turn", turn.group)
            told.set(b"left", turn.left)

    # --- 6 and 7: what is left --------------------------------------------------------------------------------------

    def more(self) -> bool:
        """Whether a further take would find something, with room and ceiling left as they are."""
        if self.walked is None or (self._seats is not None and len(self.served) >= self._seats):
            return False
        return self._flat_left() > 0 or self._ring_left() > len(self.walked.damaged)

    def hand_on(self, worth: bytes) -> None:
        """Pass on what is left of the worth that woke the caller, if no token lies there."""
        rest = self._rest_of(worth)
        if not len(self._wake):
            for token in halves(rest):
                self._wake.push_head(token)

    def _rest_of(self, worth: bytes) -> int:
        got = len(self.served)
        if worth == b"beat":
            return self._known_left() if got else 0
        return worth_of(worth) - max(got, 1) if worth else 0

    def _known_left(self) -> int:
        """Return how many jobs are known to be left: the flat set, the lanes that had a turn, one for each other."""
        turns = [s for s in self._stalls.values() if isinstance(s, StallOf) and s.lane is not None and s.served]
        left = [stall.lane.now.servable for stall in turns if stall.lane is not None and stall.lane.now.servable]
        return min(self._flat_left() + sum(left) + self._ring_left() - len(left), WORTH_MAX)

    def _flat_left(self) -> int:
        flat = self._stalls.get(None)
        return len(self._pending) if self._is_written or not isinstance(flat, StallOf) else flat.line.waiting

    def _ring_left(self) -> int:
        return len(self._ring) if self._is_written or self.walked is None else len(self.walked.rota.ring)


def wake(space: Keyspace, given: Given) -> Reply:
    """Pass on the token that a worker may have got that parks no more, and end its watch: 1 if it was, else 0."""
    tokens = space.list(given.keys["wake"])
    servable, watcher = space.list(given.keys["ring"]) or space.zset(given.keys["pending"]), given.args["watcher"]
    watch = watch_of(space, given.names, watcher) if watcher else None
    pushes = not tokens and (bool(servable) or (watch is not None and has_instants(space, given.names)))
    if watch is not None:
        watch.delete()
    if not pushes:
        return 0
    tokens.push_head(b"%d" % (min(given.number("worth"), WORTH_MAX) if servable else 1))
    return 1


BODIES: Final[Bodies] = {"take": take, "wake": wake}
