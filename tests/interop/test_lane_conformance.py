"""The conformance scenarios of protocol 7 about lanes: on every body, and with another speaker in either part.

Each scenario has two parts: `sets` admits and manages, `runs` claims and settles. Both are echomq, or one of them is
a speaker of the published protocol, on one queue.
"""

from collections import Counter

import pytest

from tests.harness.case import Case
from tests.harness.jobs import BLUE, J1, J2, J3, J4, RED
from tests.harness.model import ModelBody
from tests.harness.state import HOUR, job_number
from tests.interop.speaker import Speaker
from tests.interop.verbs import Ours, Theirs, Verbs

GREEN = "PRT00000000003"
PAIRS = ("echomq alone", "model alone", "echomq sets", "echomq runs")


class Scene:
    """A queue and the two that use it."""

    def __init__(self, case: Case, sets: Verbs, runs: Verbs) -> None:
        self.case, self.sets, self.runs = case, sets, runs

    def fill(self, group: str, *numbers: int) -> None:
        for number in numbers:
            assert self.sets.put(job_number(number), group)

    def run_one(self) -> str | None:
        """Claim one job and complete it; return its group."""
        claimed = self.runs.claim()
        for job, token, group in claimed:
            assert self.runs.complete(job, token)
            return group
        return None


@pytest.fixture(params=PAIRS)
def scene(request: pytest.FixtureRequest, echo: Case, other: Speaker) -> Scene:
    """One of the pairs on an empty queue; echomq by its scripts and by the module."""
    ours, theirs = Ours(echo), Theirs(other)
    match request.param:
        case "model alone":
            ours = Ours(case := Case(ModelBody(), echo.keys))
            return Scene(case, ours, ours)
        case "echomq alone":
            return Scene(echo, ours, ours)
        case "echomq sets":
            return Scene(echo, ours, theirs)
        case _:
            return Scene(echo, theirs, ours)


def test_12_rotate(scene: Scene) -> None:
    scene.fill(RED, 1, 3)
    scene.fill(BLUE, 2, 4)
    assert scene.runs.claim() == [(J1, 1, RED)]
    assert scene.runs.claim() == [(J2, 1, BLUE)]
    assert scene.runs.claim() == [(J3, 1, RED)]
    assert scene.runs.claim() == [(J4, 1, BLUE)]
    assert scene.runs.claim() == []


def test_13_pause(scene: Scene) -> None:
    scene.fill(RED, 1)
    scene.fill(BLUE, 2)
    scene.sets.pause(RED)
    assert scene.runs.claim() == [(J2, 1, BLUE)]
    assert scene.runs.claim() == []
    assert scene.runs.depth(RED) == 1
    scene.sets.resume(RED)
    assert scene.runs.claim() == [(J1, 1, RED)]


def test_14_limit(scene: Scene) -> None:
    scene.sets.limit(RED, 1)
    scene.fill(RED, 1, 2)
    assert scene.runs.claim() == [(J1, 1, RED)]
    assert scene.runs.claim() == []
    assert scene.runs.complete(J1, 1)
    assert scene.runs.claim() == [(J2, 1, RED)]


def test_24_lane_depth(scene: Scene) -> None:
    scene.fill(RED, 1, 2, 3)
    scene.fill(BLUE, 4)
    for who in (scene.sets, scene.runs):
        assert (who.depth(RED), who.depth(BLUE), who.depth(GREEN)) == (3, 1, 0)


def test_25_queue_pause_of_lanes(scene: Scene) -> None:
    scene.fill(RED, 1)
    scene.sets.pause_queue()
    assert (scene.runs.claim(), scene.runs.claim_weighted(), scene.runs.claim_lane()) == ([], [], [])
    assert scene.runs.depth(RED) == 1
    scene.sets.resume_queue()
    assert scene.runs.claim() == [(J1, 1, RED)]


def test_42_stalled_group(scene: Scene) -> None:
    scene.sets.limit(RED, 1)
    scene.fill(RED, 1)
    scene.fill(BLUE, 2)
    assert scene.runs.claim() == [(J1, 1, RED)]
    scene.case.body.advance(1)
    assert scene.runs.reap() == 1
    assert scene.runs.depth(RED) == 1
    assert scene.runs.claim() == [(J2, 1, BLUE)]
    assert scene.runs.claim() == [(J1, 2, RED)]


def test_44_reassign(scene: Scene) -> None:
    scene.sets.limit(BLUE, 1)
    scene.fill(RED, 1, 2)
    assert scene.sets.reassign(J1, BLUE) == 1
    assert scene.sets.reassign(J1, BLUE) == 0
    assert scene.sets.reassign(J3, BLUE) == -1
    assert scene.case.body.dump()[scene.case.keys.lane(BLUE)].value == {J1: 0}
    served = scene.runs.claim() + scene.runs.claim()
    assert sorted(served) == [(J1, 1, BLUE), (J2, 1, RED)]
    assert scene.sets.reassign(J2, BLUE) == -2
    assert scene.case.body.dump()[scene.case.keys.group_active].value == {RED.encode(): b"1", BLUE.encode(): b"1"}


def test_45_lane_drain(scene: Scene) -> None:
    scene.fill(RED, 1, 2, 3)
    scene.fill(BLUE, 4)
    assert scene.runs.claim() == [(J1, 1, RED)]
    assert scene.sets.drain(RED) == 2
    state = scene.case.body.dump()
    assert scene.case.keys.job(J2) not in state
    assert scene.case.keys.lane(RED) not in state
    assert state[scene.case.keys.group_active].value == {RED.encode(): b"1"}
    assert state[scene.case.keys.ring].value == (BLUE.encode(),)
    assert scene.runs.claim() == [(J4, 1, BLUE)]
    assert scene.runs.complete(J1, 1)
    assert scene.runs.claim() == []


def test_46_reap_group(scene: Scene) -> None:
    scene.fill(RED, 1)
    scene.fill(BLUE, 2)
    scene.runs.claim()
    scene.runs.claim()
    scene.case.body.advance(1)
    assert scene.sets.reap_group(RED) == 1
    assert scene.sets.reap_group(RED) == 0
    assert (scene.runs.depth(RED), scene.runs.depth(BLUE)) == (1, 0)
    assert scene.runs.claim() == [(J1, 2, RED)]
    assert scene.runs.claim() == []


def test_60_weighted_proportion(scene: Scene) -> None:
    scene.sets.weight(RED, 3)
    scene.fill(RED, *range(1, 61))
    scene.fill(BLUE, *range(101, 161))
    served: Counter[str] = Counter()
    for _ in range(20):
        turn = scene.runs.claim_weighted()
        assert len({group for _, _, group in turn}) == 1
        served.update(group for _, _, group in turn)
        for job, token, _ in turn:
            assert scene.runs.complete(job, token)
    assert served == {RED: 30, BLUE: 10}


def test_61_starvation_drill(scene: Scene) -> None:
    scene.fill(RED, *range(1, 51))
    scene.fill(BLUE, *range(101, 104))
    scene.fill(GREEN, 201)
    order: list[str | None] = [scene.run_one() for _ in range(54)]
    assert scene.run_one() is None
    assert [scene.runs.depth(group) for group in (RED, BLUE, GREEN)] == [0, 0, 0]
    assert GREEN in order[:3]
    assert order[:8].count(BLUE) >= 2


def test_68_grouped_batch_affinity(scene: Scene) -> None:
    scene.fill(RED, 1, 2, 3)
    scene.fill(BLUE, 4)
    batch = scene.runs.claim_lane()
    assert batch == [(J1, 1, RED), (J2, 1, RED), (J3, 1, RED)]
    deadlines = scene.case.body.dump()[scene.case.keys.active].value
    assert set(deadlines) == {J1, J2, J3}
    assert scene.runs.claim_lane() == [(J4, 1, BLUE)]
    assert scene.runs.claim_lane() == []


def test_69_grouped_batch_ceiling(scene: Scene) -> None:
    scene.sets.limit(RED, 2)
    scene.fill(RED, 1, 2, 3, 4)
    assert scene.runs.claim_lane() == [(J1, 1, RED), (J2, 1, RED)]
    assert scene.runs.claim_lane() == []
    assert scene.runs.complete(J1, 1)
    assert scene.runs.claim_lane() == [(J3, 1, RED)]
    assert scene.runs.claim_weighted() == []


def test_70_grouped_batch_fairness(scene: Scene) -> None:
    scene.sets.limit(RED, 5)
    scene.fill(RED, *range(1, 41))
    scene.fill(BLUE, 101)
    scene.fill(GREEN, 102)
    turns = [scene.runs.claim_lane() for _ in range(3)]
    assert {group for turn in turns for _, _, group in turn} == {RED, BLUE, GREEN}
    assert max(len(turn) for turn in turns) == 5


def test_a_lane_of_either_can_be_served_by_both_in_turn(scene: Scene) -> None:
    """Whoever claims, the ring goes on; and at the end nothing is left in flight."""
    scene.sets.limit(RED, 2)
    scene.fill(RED, *range(1, 11))
    scene.fill(BLUE, *range(101, 111))
    found: list[bytes] = []
    for turn in range(40):
        who = scene.sets if turn % 2 else scene.runs
        for job, token, _ in who.claim(lease_ms=HOUR):
            found.append(job)
            assert (scene.runs if turn % 3 else scene.sets).complete(job, token)
    assert len(found) == len(set(found)) == 20
    state, keys = scene.case.body.dump(), scene.case.keys
    for key in (keys.ring, keys.group_active, keys.active, keys.lane(RED), keys.lane(BLUE)):
        assert key not in state
