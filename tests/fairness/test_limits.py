"""No limit and no ceiling is exceeded for an instant, whoever claims: looked at after each step, from outside."""

import random

import pytest

from echomq.records import Claimed
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.release import release
from echomq.transitions.set_concurrency import set_concurrency
from tests.fairness.observer import Observer
from tests.fairness.stage import Tenants

LIMITS = {"one": 1, "two": 2, "five": 5}
MINUTE_MS = 60_000


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ceiling", [None, 6])
def test_an_observer_sees_no_limit_exceeded_after_any_step(
    served: Tenants, observer: Observer, ceiling: int | None, seed: int
) -> None:
    dice = random.Random(seed)
    lanes: list[str | None] = [None, "free", *LIMITS]
    for lane, most in LIMITS.items():
        served.run(glimit(served.keys, lane, most))
        served.run(gweight(served.keys, lane, dice.randint(1, 4)))
    served.run(set_concurrency(served.keys, ceiling))
    total = sum(len(served.admit(lane, 60)) for lane in lanes)
    held: list[Claimed] = []
    for _ in range(1_000):
        held += act(served, dice, held, ceiled=ceiling is not None)
        observer.look()
    # Each bound was reached, else nothing was tried; under a low ceiling five jobs of one lane rarely run at once.
    assert ceiling is None or observer.flying == ceiling
    reached = {lane for lane, most in LIMITS.items() if observer.most[lane] == most}
    assert reached >= (LIMITS.keys() if ceiling is None else {"one", "two"})
    served.end(held)
    finish(served, observer, total)
    assert served.completed == total, "jobs were lost"
    assert served.take(100) == ()


def act(served: Tenants, dice: random.Random, held: list[Claimed], *, ceiled: bool) -> tuple[Claimed, ...]:
    """Do one thing, and return what was claimed by somebody who lives. What has ended leaves `held`."""
    what = dice.choice(["take", "take", "die", "claim", "end", "end", "fail", "release", "reap", "park"])
    match what:
        case "take":
            return served.take(dice.choice([1, 3, 100]))
        case "die":
            served.take(dice.choice([1, 3]), lease_ms=1)
        case "claim" if not ceiled:  # the published claims do not know the ceiling
            return published(served, dice)
        case "park":
            verb = dice.choice([gpause, gresume, gresume])
            served.run(verb(served.keys, dice.choice(["free", *LIMITS])))
        case "reap":
            served.reap()
        case "end" | "fail" | "release" if held:
            settle(served, what, [held.pop(dice.randrange(len(held))) for _ in range(dice.randint(1, len(held)))])
        case _:
            pass
    return ()


def settle(served: Tenants, what: str, jobs: list[Claimed]) -> None:
    match what:
        case "end":
            served.end(jobs)
        case "fail":
            served.fail(jobs)
        case _:
            for one in jobs:
                served.run(release(served.keys, one.job, one.token))


def published(served: Tenants, dice: random.Random) -> tuple[Claimed, ...]:
    if dice.random() < 0.5:
        one = served.run(gclaim(served.keys, lease_ms=MINUTE_MS))
        return (one,) if isinstance(one, Claimed) else ()
    many = served.run(dice.choice([gwclaim, gbclaim])(served.keys, lease_ms=MINUTE_MS))
    return many if isinstance(many, tuple) else ()


def finish(served: Tenants, observer: Observer, total: int) -> None:
    """Take and end all that is left, under the same eyes."""
    for lane in ("free", *LIMITS):
        served.run(gresume(served.keys, lane))
    for _ in range(1_000):
        served.end(served.take(100))
        observer.look()
        served.reap()
        if served.completed == total:
            break
