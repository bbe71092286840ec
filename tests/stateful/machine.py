"""One queue on several bodies in step: a call runs on all of them, and what must hold is checked after it.

Both bodies must give the same answer and be in the same whole state, and that state must keep the invariants of
`invariants` and `lane_invariants`. What other programs do (`foreign`) is loaded into every body alike.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from echomq.errors import ServerError
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Completed, Dead, Reaped, Token
from echomq.transitions.call import Call
from echomq.transitions.repair import repair
from tests.harness.body import Body
from tests.harness.state import State, job_number
from tests.stateful.invariants import View, check_places
from tests.stateful.lane_invariants import check_counts, check_lanes, check_ring, check_wakes, untrue_lanes

__all__ = ["GROUPS", "PARENTS", "POOL", "Machine", "Refused", "answer_of", "holders", "leases", "limits", "picks"]

Answer = TypeVar("Answer")
Held = tuple[JobId, Token]

POOL = [job_number(number) for number in range(1, 15)]
PARENTS = [job_number(number) for number in (50, 51)]
GROUPS = ["PRT00000000001", "PRT00000000002", "a@b.c"]

picks = st.integers(0, 19)
leases = st.integers(1, 2)
limits = st.sampled_from([1, 2, 100])
holders = st.tuples(picks, st.sampled_from([0, 0, 0, 0, -1, 1]))


class Machine(RuleBasedStateMachine):
    """A program without rules of its own. `bodies` run it; the first one is the one that is looked at."""

    def __init__(self, bodies: Iterable[Body], keys: QueueKeys) -> None:
        super().__init__()
        self.bodies = tuple(bodies)
        self.keys = keys
        for body in self.bodies:
            body.restart()
        self.now = 0
        self.state: State = {}
        self.completed = self.failed = 0
        self.disturbed: set[bytes] = set()
        """Groups whose count in flight may be wrong: another program took the row of one of their jobs away."""
        self.strangers: set[bytes] = set()
        """Groups that another speaker touched, which does not keep `lanes`."""
        self.haunted: set[bytes] = set()
        """Jobs whose id was admitted anew while a ghost of it still stood somewhere."""
        self.is_rough = self.spoilt = False
        """Whether the program damages what lanes are made of, and whether that is so now."""
        self.ended: JobId | None = None

    def teardown(self) -> None:
        for body in self.bodies:
            body.drop()

    # --- one step ---------------------------------------------------------------------------------------------------

    def step(self, call: Call[Answer], *, leaves: Iterable[bytes] = ()) -> Answer | None:
        """Run the call everywhere, compare, and check what must hold. None: it was refused by the server.

        `leaves` are the jobs that may vanish in this step; a job that vanishes besides is lost.
        """
        before = View(self.keys, self.state)
        answers = [answer_of(body, call) for body in self.bodies]
        self.look(call.about, answers)
        answer = answers[0]
        if isinstance(answer, Refused):
            assert self.state == before.state, f"{call.about} was refused and changed something"
            return None
        self.count(answer)
        self.check(call.about, before, set(leaves))
        return cast("Answer", answer)

    def at_an_instant(self, offset: int, call_at: Callable[[int], Call[Answer]]) -> None:
        """A step whose call names an instant: in the words of each body's own clock."""
        before = View(self.keys, self.state)
        calls = [call_at(body.at_ms(self.now + offset)) for body in self.bodies]
        answers = [answer_of(body, call) for body, call in zip(self.bodies, calls, strict=True)]
        self.look(calls[0].about, answers)
        self.check(calls[0].about, before, set())

    def look(self, about: str, answers: list[object]) -> None:
        """Compare what the bodies answered and where they are, and take that as the state."""
        states = [body.dump() for body in self.bodies]
        for body, answer, state in zip(self.bodies[1:], answers[1:], states[1:], strict=True):
            names = f"{self.bodies[0].name} and {body.name}"
            assert answers[0] == answer, f"{names} answer {about} differently: {answers[0]} and {answer}"
            assert states[0] == state, f"{names} are in different states after {about}: {_unlike(states[0], state)}"
        self.state = states[0]

    def count(self, answer: object) -> None:
        """Keep the true counts of completions and deaths."""
        for one in answer if isinstance(answer, tuple) else (answer,):
            match one:
                case Completed(job=job):
                    self.completed += 1
                    self.ended = job
                case Dead():
                    self.failed += 1
                case Reaped(dead=dead):
                    self.count_lapsed(dead)

    def count_lapsed(self, dead: Iterable[bytes]) -> None:
        """Of these, count those that died; what is set aside for damage has not died of its own."""
        rows = View(self.keys, self.state).jobs
        self.failed += sum(rows[job][b"last_error"].startswith(b"lease lapsed") for job in dead if job in rows)

    def check(self, about: str, before: View, leaves: set[bytes]) -> None:
        after = View(self.keys, self.state)
        lost = before.jobs.keys() - after.jobs.keys() - leaves - self.haunted
        assert not lost, f"{about} lost {lost}"
        for job, row in after.jobs.items():
            old = before.jobs.get(job, row)
            assert int(row[b"attempts"]) >= int(old[b"attempts"]), f"{about} lowered the token of {job!r}"
        self.haunted |= {j for j in after.jobs.keys() - before.jobs.keys() if j in before.places()}
        if self.haunted:
            self.disturbed.update(group.encode() for group in GROUPS)
        if not self.spoilt:
            self.check_lanes(after)
        assert after.count_of(self.keys.metrics_completed) == self.completed, "completions are miscounted"
        assert after.count_of(self.keys.metrics_failed) == self.failed, "deaths are miscounted"

    def check_lanes(self, view: View) -> None:
        check_places(view, self.haunted)
        check_ring(view)
        check_counts(view, self.disturbed)
        check_lanes(view, self.strangers)
        check_wakes(view)
        self.strangers &= untrue_lanes(view)

    def repair(self) -> set[JobId]:
        """Walk through the queue with `repair`, and return what it put back.

        The walk has the order of each body's own keyspace, and so have the lanes that enter the ring and the tokens
        that they leave: these are compared as sets, and the first body's are everybody's from then on.
        """
        answers: list[object] = [_repaired(body, self.keys) for body in self.bodies]
        found = self.bodies[0].dump()
        ring = View(self.keys, found).ring()
        for body in self.bodies[1:]:
            assert sorted(View(self.keys, body.dump()).ring()) == sorted(ring), "repair has made different rings"
            body.delete([self.keys.ring, self.keys.wake])
            body.load({key: found[key] for key in (self.keys.ring, self.keys.wake) if key in found})
        self.look("repair", answers)
        return cast("set[JobId]", answers[0])

    def change(self, state: State) -> None:
        """Let another program change the database."""
        before = View(self.keys, self.state)
        gone = [key for key in self.state if key not in state]
        changed = {key: entry for key, entry in state.items() if self.state.get(key) != entry}
        for body in self.bodies:
            body.delete(gone)
            body.load(changed)
        self.look("another program", [None] * len(self.bodies))
        if self.spoilt:
            return
        after = View(self.keys, self.state)
        self.strangers |= {
            group for group in before.groups() | after.groups() if before.load(group) != after.load(group)
        }

    def time_passes(self, span: int) -> None:
        for body in self.bodies:
            body.advance(span)
        self.now += span
        # A watch ends a second after what it watches for: within that second the speed of the machine would decide.
        if self.keys.watch in self.state:
            watches = [body.dump().get(self.keys.watch) for body in self.bodies]
            if any(watch is None or not watch.ttl for watch in watches):
                for body in self.bodies:
                    body.delete([self.keys.watch])
        self.look("time passing", [None] * len(self.bodies))

    # --- who is drawn -----------------------------------------------------------------------------------------------

    def members(self, *keys: bytes) -> set[bytes]:
        view = View(self.keys, self.state)
        return {job for key in keys for job in view.members(key)}

    def job(self, pick: int) -> JobId:
        """Mostly a job that is there; of twenty picks, two name any id."""
        there = sorted(View(self.keys, self.state).jobs)
        anyone = POOL + PARENTS[:1]
        return JobId(there[pick % len(there)]) if there and pick < 18 else anyone[pick % len(anyone)]

    def one_of(self, key: bytes, pick: int) -> JobId:
        """Mostly a job of this set."""
        there = sorted(self.members(key))
        return JobId(there[pick % len(there)]) if there and pick < 15 else self.job(pick)

    def holder(self, who: tuple[int, int]) -> Held:
        """Mostly a job that is leased or was, with its token or one beside it."""
        pick, offset = who
        view = View(self.keys, self.state)
        leased = sorted(job for job in view.members(self.keys.active) if job in view.jobs)
        lapsed = sorted(
            job for job, row in view.jobs.items() if row[b"state"] == b"pending" and row[b"attempts"] != b"0"
        )
        those = lapsed if lapsed and (not leased or pick % 3 == 0) else leased
        job = JobId(those[pick % len(those)]) if those and pick < 17 else self.job(pick)
        attempts = int(view.jobs.get(job, {}).get(b"attempts", b"1"))
        return job, Token(max(attempts + offset, 1))


class Refused:
    """An error reply, by the class of the exception it becomes."""

    def __init__(self, error: ServerError) -> None:
        self.kind = type(error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refused) and self.kind is other.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"refused with {self.kind.__name__}"


def answer_of(body: Body, call: Call[object]) -> object:
    try:
        return body.run(call)
    except ServerError as error:
        return Refused(error)


def _repaired(body: Body, keys: QueueKeys) -> set[JobId]:
    found: set[JobId] = set()
    cursor: str | None = None
    while True:
        part = body.run(repair(keys, cursor=cursor))
        found.update(part.jobs)
        cursor = part.cursor
        if cursor is None:
            return found


def _unlike(one: State, other: State) -> dict[bytes, tuple[object, object]]:
    """Return the keys in which two states differ, with what each has there."""
    return {key: (one.get(key), other.get(key)) for key in sorted({*one, *other}) if one.get(key) != other.get(key)}
