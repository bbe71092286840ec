"""What a random program does to lanes: their verbs, the worker's claim, and speakers of the published protocol."""

from typing import cast

import hypothesis.strategies as st
from hypothesis.stateful import rule

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Claimed, Empty, LaneInfo, NewJob, Paused, Taken
from echomq.transitions.complete import complete
from echomq.transitions.depth import depth
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gdrain import gdrain
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greap_group import greap_group
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.lanes import lanes
from echomq.transitions.promote import promote
from echomq.transitions.release import release
from echomq.transitions.retry import retry
from echomq.transitions.set_concurrency import set_concurrency
from echomq.transitions.take import take
from echomq.transitions.wake import wake
from tests.harness.body import Body
from tests.harness.state import HOUR, State
from tests.stateful import foreign
from tests.stateful.invariants import View
from tests.stateful.machine import GROUPS, PARENTS, POOL, Machine, answer_of, leases, limits, picks
from tests.stateful.rota import check_take, is_sound

__all__ = ["LaneRules"]

caps = st.sampled_from([None, None, 1, 2])
groups = st.sampled_from(GROUPS)
sizes = st.integers(1, 5)
watchers = st.sampled_from([None, "w1", "w2"])
ends = st.sampled_from(["well", "well", "fail", "fail", "wait", "hand back"])
worths = st.sampled_from([b"", b"1", b"3", b"100", b"beat"])


class LaneRules(Machine):
    """Rules about lanes. Which lanes there are is `GROUPS`."""

    # --- admission --------------------------------------------------------------------------------------------------

    @rule(job=st.sampled_from(POOL + PARENTS[:1]), lane=groups, cap=caps)
    def genqueue(self, job: JobId, lane: str, cap: int | None) -> None:
        self.step(genqueue(self.keys, job, b"g", lane=lane, max_attempts=cap))

    @rule(batch=st.lists(st.tuples(st.sampled_from(POOL), st.sampled_from([None, *GROUPS])), min_size=2, max_size=6))
    def enqueue_many_into_lanes(self, batch: list[tuple[JobId, str | None]]) -> None:
        self.step(enqueue_many(self.keys, [NewJob(job, b"m", lane=lane) for job, lane in batch]))

    # --- claiming ---------------------------------------------------------------------------------------------------

    @rule(lease=leases, verb=st.sampled_from(["gclaim", "gwclaim", "gbclaim"]), cap=st.integers(1, 3))
    def claim_a_turn(self, lease: int, verb: str, cap: int) -> None:
        before = View(self.keys, self.state)
        match verb:
            case "gclaim":
                one = self.step(gclaim(self.keys, lease_ms=lease * HOUR))
                served: object = (one,) if isinstance(one, Claimed) else () if isinstance(one, Empty) else one
            case "gwclaim":
                served = self.step(gwclaim(self.keys, lease_ms=lease * HOUR))
            case _:
                served = self.step(gbclaim(self.keys, lease_ms=lease * HOUR, cap=cap))
        if isinstance(served, tuple):
            jobs = cast("tuple[Claimed, ...]", served)
            self.check_served(before, jobs)
            assert len({one.lane for one in jobs}) <= 1, "one turn has served two lanes"
            if jobs and is_sound(before):
                assert jobs[0].lane == before.ring()[0].decode(), "it was the turn of another lane"

    @rule(size=sizes, lease=leases, worth=worths, watcher=watchers, park=st.sampled_from([1_000, HOUR]))
    def take(self, size: int, lease: int, worth: bytes, watcher: str | None, park: int) -> None:
        self.taken(size, lease, worth, watcher, park)

    def taken(self, size: int, lease: int, worth: bytes, watcher: str | None, park: int) -> tuple[Claimed, ...]:
        """Take, judge the answer by the page, and return the jobs."""
        before = View(self.keys, self.state)
        call = take(self.keys, lease_ms=lease * HOUR, size=size, worth=worth, watcher=watcher, park_ms=park)
        taken = self.step(call)
        if isinstance(taken, Paused):
            assert self.state == before.state, "the queue is paused, and something was touched"
        if not isinstance(taken, Taken):
            return ()
        after = View(self.keys, self.state)
        self.check_served(before, taken.jobs)
        assert len(taken.jobs) <= size
        self.check_ceiling(before, len(taken.jobs))
        self.check_wait(taken, size, park)
        if is_sound(before):
            check_take(before, after, size, taken)
            self.check_tokens(before, after, taken, worth)
        return taken.jobs

    @rule(day=st.lists(st.tuples(sizes, ends, worths), min_size=1, max_size=4))
    def work(self, day: list[tuple[int, str, bytes]]) -> None:
        """Take, and settle each job at once, as workers do all day."""
        for size, end, worth in day:
            for one in self.taken(size, 1, worth, "w1", HOUR):
                self.settle(one, end)
            if end == "fail":
                self.step(promote(self.keys, limit=100))

    def settle(self, one: Claimed, end: str) -> None:
        match end:
            case "well":
                self.step(complete(self.keys, one.job, one.token), leaves=[one.job])
            case "fail":
                self.step(retry(self.keys, one.job, one.token, delay_ms=0, max_attempts=9, error="boom"))
            case "hand back":
                self.step(release(self.keys, one.job, one.token))
            case _:
                pass

    def check_served(self, before: View, jobs: tuple[Claimed, ...]) -> None:
        """Nobody is served twice, nor a parked lane, and no lane beyond its limit."""
        leased, after = before.members(self.keys.active), View(self.keys, self.state)
        assert len({one.job for one in jobs}) == len(jobs), "a job was served twice"
        for one in jobs:
            assert one.job not in leased or one.job in self.haunted, f"{one.job!r} was leased already"
        for lane in {one.lane for one in jobs if one.lane is not None and not before.is_spoilt()}:
            group = lane.encode()
            limit = after.limit(group)
            assert not before.is_parked(group), f"the parked lane {lane} was served"
            assert limit is None or after.flying(group) <= limit, (
                f"{lane} has {after.flying(group)} in flight of {limit}"
            )

    def check_ceiling(self, before: View, count: int) -> None:
        """The queue's ceiling is not passed by what was served."""
        ceiling = before.ceiling()
        flying = len(before.members(self.keys.active)) + count
        assert not count or ceiling is None or flying <= ceiling, f"{flying} are in flight under {ceiling}"

    def check_wait(self, taken: Taken, size: int, park: int) -> None:
        """Who got all it asked for, or has more to take, does not park; who parks, not for longer than it offered."""
        if taken.more or len(taken.jobs) == size or taken.due:
            assert taken.wait_ms == 0
        if taken.more or len(taken.jobs) == size:
            assert not taken.due
        assert taken.wait_ms <= round(park / HOUR)

    def check_tokens(self, before: View, after: View, taken: Taken, worth: bytes) -> None:
        """What is left of the worth that woke the caller is handed on; where nothing is left, no token is."""
        had, has = before.tokens(), after.tokens()
        if not taken.more:
            assert not has, "a token lies there, and nothing can be served"
        elif had or not worth:
            assert has == had, "a token was left beside another, or by nobody"
        elif worth != b"beat":
            assert len(has) <= 2
            left = max(int(worth) - max(len(taken.jobs), 1), 0)
            assert sum(map(int, has)) == left, f"of {worth!r}, {has} were handed on"

    @rule(worth=st.sampled_from([1, 2, 1000]), watcher=watchers)
    def wake(self, worth: int, watcher: str | None) -> None:
        view = View(self.keys, self.state)
        if view.is_spoilt():
            self.step(wake(self.keys, worth=worth, watcher=watcher))
            return
        servable = bool(view.ring() or view.members(self.keys.pending))
        watched = bool(view.members(self.keys.schedule) or view.members(self.keys.active))
        gives_up_the_watch = watcher is not None and view.watcher() == watcher.encode()
        wanted = self.keys.wake not in self.state and (servable or (gives_up_the_watch and watched))
        assert self.step(wake(self.keys, worth=worth, watcher=watcher)) is wanted
        assert watcher is None or View(self.keys, self.state).watcher() != watcher.encode()

    # --- operating --------------------------------------------------------------------------------------------------

    @rule(verb=st.sampled_from(["gpause", "gresume", "gresume"]), lane=groups)
    def park(self, verb: str, lane: str) -> None:
        self.step((gpause if verb == "gpause" else gresume)(self.keys, lane))

    @rule(lane=groups, most=st.sampled_from([None, None, 1, 2, 3]))
    def glimit(self, lane: str, most: int | None) -> None:
        self.step(glimit(self.keys, lane, most))

    @rule(lane=groups, weight=st.sampled_from([None, 1, 2, 3]))
    def gweight(self, lane: str, weight: int | None) -> None:
        self.step(gweight(self.keys, lane, weight))

    @rule(most=st.sampled_from([None, None, 1, 2, 4]))
    def set_concurrency(self, most: int | None) -> None:
        self.step(set_concurrency(self.keys, most))

    @rule(pick=picks, lane=groups)
    def greassign(self, pick: int, lane: str) -> None:
        waiting = sorted(job for ids in View(self.keys, self.state).lanes.values() for job in ids)
        job = JobId(waiting[pick % len(waiting)]) if waiting and pick < 15 else self.job(pick)
        self.step(greassign(self.keys, job, lane))

    @rule(lane=groups, limit=limits)
    def gdrain(self, lane: str, limit: int) -> None:
        waiting = self.members(self.keys.lane(lane))
        self.step(gdrain(self.keys, lane, limit=limit), leaves=waiting)

    @rule(lane=groups, limit=limits, cap=caps, span=st.integers(0, 2))
    def greap_group(self, lane: str, limit: int, cap: int | None, span: int) -> None:
        self.time_passes(span)
        before = View(self.keys, self.state)
        call = greap_group(self.keys, lane, limit=limit, max_attempts=cap)
        self.look(call.about, [answer_of(body, call) for body in self.bodies])
        self.count_lapsed(self.members(self.keys.dead) - before.members(self.keys.dead).keys())
        self.check(call.about, before, set())

    # --- reading ----------------------------------------------------------------------------------------------------

    @rule(limit=st.sampled_from([1, 2, 100]))
    def walk_the_lanes(self, limit: int) -> None:
        """Each lane is told once, the live ones first and in order, and as it is. The others have no order."""
        view = View(self.keys, self.state)
        live = len(view.members(self.keys.lanes))
        walks = [_walk(body, self.keys, limit) for body in self.bodies]
        self.look("lanes", [(walk[:live], frozenset(walk[live:])) for walk in walks])
        assert self.state == view.state
        names = [info.lane.encode() for info in walks[0]]
        assert len(set(names)) == len(names), f"a lane was told twice: {names}"
        if view.is_spoilt():
            return
        listed = sorted(view.members(self.keys.lanes))
        assert names[:live] == listed, f"the live lanes are {listed}, told was {names}"
        settled = {g for g in view.groups() if g in view.ring() or g in listed or view.has_settings(g)}
        assert set(names) == settled, f"the lanes are {settled}, told was {names}"
        for info in walks[0]:
            self.check_told(view, info)

    def check_told(self, view: View, info: LaneInfo) -> None:
        group = info.lane.encode()
        waiting = view.lanes.get(group, frozenset())
        assert self.step(depth(self.keys, info.lane)) == len(waiting) == info.depth
        assert info.in_flight == view.flying(group)
        assert info.limit == view.limit(group)
        assert info.weight == view.weight(group)
        assert info.paused is view.is_parked(group)
        assert info.oldest == min(waiting, default=None)

    # --- other programs ---------------------------------------------------------------------------------------------

    @rule(what=st.sampled_from([*foreign.SPOILS, *["mend"] * 5]), lane=groups)
    def spoil(self, what: str, lane: str) -> None:
        """Damage what lanes are made of, where the program is rough; or mend it, which one walk of repair completes."""
        if what != "mend" and self.is_rough:
            self.spoilt = True
            self.change(foreign.spoil(self.keys, self.state, lane, what))
        elif self.spoilt:
            self.change(foreign.mend(self.keys, self.state))
            self.repair()
            self.spoilt = View(self.keys, self.state).is_spoilt()
            assert not self.spoilt
            self.disturbed.update(group.encode() for group in GROUPS)
            self.check("repair", View(self.keys, self.state), set())

    # --- speakers of the published protocol -------------------------------------------------------------------------

    @rule(
        verb=st.sampled_from(
            ["genqueue", "genqueue", "gclaim", "gclaim", "complete", "reprocess", "limit", "park", "unpark"]
        ),
        pick=picks,
        lane=groups,
        number=st.integers(1, 2),
    )
    def another_speaker(self, verb: str, pick: int, lane: str, number: int) -> None:
        keys, state = self.keys, self.state
        if self.spoilt:
            return
        match verb:
            case "genqueue":
                self.admit_elsewhere(POOL[pick % len(POOL)], lane)
            case "gclaim":
                self.change(foreign.gclaim(keys, state, self.now, number))
            case "complete":
                self.complete_elsewhere(pick)
            case "reprocess":
                self.change(foreign.reprocess(keys, state, self.one_of(keys.dead, pick)))
            case "limit":
                self.change(foreign.set_limit(keys, state, lane, number))
            case _:
                self.change((foreign.park if verb == "park" else foreign.unpark)(keys, state, lane))

    def admit_elsewhere(self, job: JobId, lane: str) -> None:
        if job not in View(self.keys, self.state).places():
            self.change(foreign.genqueue(self.keys, self.state, job, lane))

    def complete_elsewhere(self, pick: int) -> None:
        job = self.one_of(self.keys.active, pick)
        state: State = foreign.complete(self.keys, self.state, job)
        self.completed += state != self.state
        self.change(state)


def _walk(body: Body, keys: QueueKeys, limit: int) -> tuple[LaneInfo, ...]:
    """Return all lanes that a body tells, page by page: a cursor is the body's own."""
    told: list[LaneInfo] = []
    cursor: str | None = None
    for _ in range(50):
        page = body.run(lanes(keys, cursor=cursor, limit=limit))
        told += page.lanes
        cursor = page.cursor
        if cursor is None:
            return tuple(told)
    raise AssertionError("the walk over the lanes does not end")
