"""Random programs that run on two bodies in step.

`machine` says what is compared and checked after each step, `lane_rules` draws what happens to lanes, and this page
draws everything else. What other programs do to the queue is drawn too (`foreign`): grouped jobs, flows, locks, rows
that vanish or are overwritten. A crashed worker is one that is not drawn again: its token stays behind.
"""

from collections.abc import Callable
from typing import cast

import hypothesis.strategies as st
from hypothesis.stateful import initialize, rule

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Claimed, ClaimedMany, Completion, NewJob
from echomq.states import SetName
from echomq.transitions.add_log import add_log
from echomq.transitions.browse import browse
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.counts import counts
from echomq.transitions.delay import delay
from echomq.transitions.drain import drain
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend import extend
from echomq.transitions.extend_many import extend_many
from echomq.transitions.get_job import get_job
from echomq.transitions.get_result import get_result
from echomq.transitions.get_state import get_state
from echomq.transitions.logs import logs
from echomq.transitions.pause import pause
from echomq.transitions.promote import promote
from echomq.transitions.promote_now import promote_now
from echomq.transitions.purge import purge
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.reprocess import reprocess
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.reschedule import reschedule
from echomq.transitions.resume import resume
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_at, enqueue_in
from echomq.transitions.update_data import update_data
from echomq.transitions.update_progress import update_progress
from tests.features import has
from tests.harness.state import HOUR, State
from tests.stateful import foreign
from tests.stateful.invariants import View
from tests.stateful.lane_rules import LaneRules
from tests.stateful.machine import GROUPS, PARENTS, POOL, holders, leases, limits, picks

__all__ = ["LockStep"]

ids = st.sampled_from(POOL + PARENTS[:1])
hours = st.integers(0, 2)
policies = st.sampled_from([b"fp", b"id"])
caps = st.sampled_from([None, 1, 2, 3])
places = st.sampled_from([None, *GROUPS])
locks = st.sampled_from(["string", *(["field"] if has("field_ttl") else []), "field without a TTL"])


class LockStep(LaneRules):
    """A program. Subclasses say which `bodies` run it; the first one is the one that is looked at."""

    @initialize(
        kind=st.sampled_from(["flat", "lane", "lanes", "lanes", "flow", "flow"]),
        policy=policies,
        nested=st.booleans(),
        settings=st.lists(st.sampled_from([None, 2, 3]), min_size=6, max_size=6),
        rough=st.sampled_from([False, False, False, True]),
    )
    def begin(self, kind: str, policy: bytes, nested: bool, settings: list[int | None], rough: bool) -> None:
        self.is_rough = rough
        if kind == "flow":
            self.hold_parent(POOL[:2], policy, nested)
        elif kind != "flat":
            lanes = GROUPS[:1] if kind == "lane" else GROUPS
            waiting = [NewJob(job, b"b", lane=lanes[n % len(lanes)]) for n, job in enumerate(POOL[:9])]
            self.step(enqueue_many(self.keys, waiting))
            for lane, weight, limit in zip(GROUPS, settings[:3], settings[3:], strict=True):
                self.gweight(lane, weight)
                self.glimit(lane, limit)
        self.step(enqueue_many(self.keys, [NewJob(job, b"b") for job in POOL[8:12]]))

    # --- admission --------------------------------------------------------------------------------------------------

    @rule(job=ids, cap=caps)
    def enqueue(self, job: JobId, cap: int | None) -> None:
        self.step(enqueue(self.keys, job, b"e", max_attempts=cap))

    @rule(batch=st.lists(ids, min_size=1, max_size=4), cap=caps)
    def enqueue_many(self, batch: list[JobId], cap: int | None) -> None:
        self.step(enqueue_many(self.keys, [NewJob(job, b"m", cap) for job in batch]))

    @rule(job=ids, delay=hours, cap=caps, lane=places)
    def enqueue_in(self, job: JobId, delay: int, cap: int | None, lane: str | None) -> None:
        self.step(enqueue_in(self.keys, job, b"s", delay_ms=delay * HOUR, max_attempts=cap, lane=lane))

    @rule(job=ids, offset=st.integers(-1, 2), lane=places)
    def enqueue_at(self, job: JobId, offset: int, lane: str | None) -> None:
        self.at_an_instant(offset, lambda at_ms: enqueue_at(self.keys, job, b"a", at_ms=at_ms, lane=lane))

    # --- claiming ---------------------------------------------------------------------------------------------------

    @rule(lease=leases)
    def claim(self, lease: int) -> None:
        leased = self.members(self.keys.active)
        answer = self.step(claim(self.keys, lease_ms=lease * HOUR))
        if isinstance(answer, Claimed):
            assert answer.job not in leased or answer.job in self.haunted, f"{answer.job!r} was leased already"

    @rule(lease=leases, size=st.sampled_from([1, 2, 5]))
    def claim_many(self, lease: int, size: int) -> None:
        before, leased = View(self.keys, self.state), self.members(self.keys.active)
        answer = self.step(claim_many(self.keys, lease_ms=lease * HOUR, size=size))
        if isinstance(answer, ClaimedMany):
            self.check_ceiling(before, len(answer.jobs))
            for one in answer.jobs:
                assert one.job not in leased or one.job in self.haunted, f"{one.job!r} was leased already"

    # --- settling ---------------------------------------------------------------------------------------------------

    @rule(who=holders, ttl=st.sampled_from([None, 1, 2]))
    def complete(self, who: tuple[int, int], ttl: int | None) -> None:
        kept = None if ttl is None else ttl * HOUR
        self.step(complete(self.keys, *self.holder(who), result=b"r", result_ttl_ms=kept), leaves=[self.holder(who)[0]])

    @rule(crowd=st.lists(holders, min_size=1, max_size=4), ttl=st.sampled_from([None, 1]))
    def complete_many(self, crowd: list[tuple[int, int]], ttl: int | None) -> None:
        kept = None if ttl is None else ttl * HOUR
        items = [Completion(*self.holder(who), result=b"m", result_ttl_ms=kept) for who in crowd]
        self.step(complete_many(self.keys, items), leaves=[item.job for item in items])

    @rule(who=holders, delay=hours, cap=st.integers(0, 3))
    def retry(self, who: tuple[int, int], delay: int, cap: int) -> None:
        self.step(retry(self.keys, *self.holder(who), delay_ms=delay * HOUR, max_attempts=cap, error=f"boom {cap}"))

    @rule(who=holders, fresh=st.booleans())
    def die_and_run_again(self, who: tuple[int, int], fresh: bool) -> None:
        """The long way round that children of a flow must be counted once on."""
        job, token = self.holder(who)
        self.step(retry(self.keys, job, token, delay_ms=0, max_attempts=0, error="fatal"))
        self.step(reprocess(self.keys, job, fresh=fresh))
        self.step(claim_many(self.keys, lease_ms=HOUR, size=5))

    @rule(who=holders)
    def release(self, who: tuple[int, int]) -> None:
        self.step(release(self.keys, *self.holder(who)))

    @rule(who=holders, due=hours, unspent=st.booleans())
    def delay(self, who: tuple[int, int], due: int, unspent: bool) -> None:
        self.step(delay(self.keys, *self.holder(who), delay_ms=due * HOUR, unspent=unspent))

    @rule(who=holders, lease=leases)
    def extend(self, who: tuple[int, int], lease: int) -> None:
        leased = self.members(self.keys.active)
        self.step(extend(self.keys, *self.holder(who), lease_ms=lease * HOUR))
        assert self.members(self.keys.active) == leased, "an extension revived what was not leased"

    @rule(crowd=st.lists(holders, min_size=1, max_size=4), lease=leases)
    def extend_many(self, crowd: list[tuple[int, int]], lease: int) -> None:
        leased = self.members(self.keys.active)
        self.step(extend_many(self.keys, [self.holder(who) for who in crowd], lease_ms=lease * HOUR))
        assert self.members(self.keys.active) == leased, "an extension revived what was not leased"

    # --- moving -----------------------------------------------------------------------------------------------------

    @rule(limit=limits, span=hours)
    def promote(self, limit: int, span: int) -> None:
        self.time_passes(span)
        self.step(promote(self.keys, limit=limit))

    @rule(limit=limits, cap=caps, span=hours)
    def reap(self, limit: int, cap: int | None, span: int) -> None:
        self.time_passes(span)
        self.step(reap(self.keys, limit=limit, max_attempts=cap))

    @rule(pick=picks, offset=st.integers(-1, 2))
    def move_a_scheduled_one(self, pick: int, offset: int) -> None:
        job = self.one_of(self.keys.schedule, pick)
        if offset < 0:
            self.step(promote_now(self.keys, job))
        elif pick % 2:
            self.step(reschedule(self.keys, job, delay_ms=offset * HOUR))
        else:
            self.at_an_instant(offset - 1, lambda at_ms: reschedule(self.keys, job, at_ms=at_ms))

    @rule(pick=picks, fresh=st.booleans())
    def reprocess(self, pick: int, fresh: bool) -> None:
        self.step(reprocess(self.keys, self.one_of(self.keys.dead, pick), fresh=fresh))

    @rule(limit=limits, pick=picks, fresh=st.booleans())
    def reprocess_many(self, limit: int, pick: int, fresh: bool) -> None:
        self.step(reprocess_many(self.keys, limit=limit, after=self.cursor(pick), fresh=fresh))

    @rule(age=hours, limit=limits, pick=picks)
    def purge(self, age: int, limit: int, pick: int) -> None:
        dead = self.members(self.keys.dead)
        self.step(purge(self.keys, age_ms=age * HOUR, limit=limit, after=self.cursor(pick)), leaves=dead)

    def cursor(self, pick: int) -> JobId | None:
        return POOL[pick % 3] if pick > 10 else None

    @rule(pick=picks, limit=limits, verb=st.sampled_from(["remove", "drain", "drain all", "pause", "resume", "resume"]))
    def operate(self, pick: int, limit: int, verb: str) -> None:
        match verb:
            case "remove":
                job = self.job(pick)
                self.step(remove(self.keys, job), leaves=[job])
            case "pause":
                self.step(pause(self.keys))
            case "resume":
                self.step(resume(self.keys))
            case _:
                waiting = self.members(self.keys.pending, self.keys.schedule)
                self.step(drain(self.keys, schedule=verb == "drain all", limit=limit), leaves=waiting)

    @rule(pick=picks)
    def lose_the_place_and_repair(self, pick: int) -> None:
        """Another program takes an ungrouped job out of its set; repair finds exactly that one (case 9)."""
        job = self.job(pick)
        view = View(self.keys, self.state)
        row = view.jobs.get(job)
        if row is None or b"group" in row or row[b"state"] == b"awaiting_children" or self.haunted or self.spoilt:
            return
        self.change(foreign.take_out(self.keys, self.state, job))
        assert self.repair() == {job}
        self.check("repair", view, set())

    # --- data and reading -------------------------------------------------------------------------------------------

    @rule(who=holders, fenced=st.booleans())
    def write(self, who: tuple[int, int], fenced: bool) -> None:
        job, held = self.holder(who)
        token = held if fenced else None
        self.step(update_data(self.keys, job, b"d", token=token))
        self.step(update_progress(self.keys, job, b"50%", token=token))
        self.step(add_log(self.keys, job, b"line", keep=2, token=token))

    @rule(pick=picks, name=st.sampled_from(list(SetName)))
    def read(self, pick: int, name: SetName) -> None:
        before, job = self.state, self.ended if self.ended and pick % 4 == 0 else self.job(pick)
        for call in (
            get_job(self.keys, job),
            get_state(self.keys, job),
            get_result(self.keys, job),
            logs(self.keys, job),
        ):
            self.step(cast("Call[object]", call))
        self.step(counts(self.keys))
        self.step(browse(self.keys, name, limit=100))
        assert self.state == before

    # --- time and other programs ------------------------------------------------------------------------------------

    @rule(span=leases)
    def wait(self, span: int) -> None:
        self.time_passes(span)

    @rule(
        children=st.lists(st.sampled_from(POOL), min_size=1, max_size=3, unique=True),
        policy=policies,
        nested=st.booleans(),
    )
    def hold_parent(self, children: list[JobId], policy: bytes, nested: bool) -> None:
        if not {PARENTS[0], *children} & View(self.keys, self.state).places().keys():
            above = PARENTS[1] if nested else None
            self.change(foreign.hold_parent(self.keys, self.state, PARENTS[0], children, policy, above))

    @rule(pick=picks, how=st.sampled_from([foreign.vanish, foreign.skeleton, foreign.break_row]))
    def damage(self, pick: int, how: Callable[[QueueKeys, State, JobId], State]) -> None:
        job = self.job(pick)
        row = View(self.keys, self.state).jobs.get(job)
        if row is None and how is foreign.break_row:
            return
        if row is not None and b"group" in row:
            self.disturbed.add(row[b"group"])
        self.change(how(self.keys, self.state, job))

    @rule(how=st.sampled_from(["dependencies", "processed", "failed", "unsuccessful", "mend", "mend", "mend"]))
    def damage_the_parent(self, how: str) -> None:
        self.change(foreign.damage_parent(self.keys, self.state, PARENTS[0], how))

    @rule(pick=picks, how=locks)
    def lock(self, pick: int, how: str) -> None:
        self.change(foreign.lock(self.keys, self.state, self.job(pick), how))
