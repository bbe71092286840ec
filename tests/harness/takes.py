"""How the contract tests of `take` ask, and what they compare."""

from collections.abc import Iterable

from echomq.records import Claimed, Taken, Token
from echomq.transitions.take import take
from tests.harness.case import Case
from tests.harness.state import HOUR, Seed

__all__ = ["jobs_of", "leased", "take_jobs", "taken"]


def taken(case: Case, size: int, **more: object) -> Taken:
    """Take up to so many and return the answer; the queue is not paused."""
    answer = case.body.run(take(case.keys, lease_ms=HOUR, size=size, **more))  # type: ignore[arg-type]  # as named
    assert isinstance(answer, Taken), answer
    return answer


def jobs_of(answer: Taken) -> list[bytes]:
    return [bytes(claimed.job) for claimed in answer.jobs]


def take_jobs(case: Case, size: int, **more: object) -> list[bytes]:
    """Take up to so many and return the ids in the order in which they were served."""
    return jobs_of(taken(case, size, **more))


def leased(seed: Seed, claimed: Iterable[Claimed], *, ends: int = 1) -> Seed:
    """The seed, with these jobs leased from where they were, and their lanes' counts raised."""
    for one in claimed:
        seed.active(one.job, Token(one.token), ends=ends)
        if one.lane is not None:
            held = seed.hashes.get(seed.keys.group_active, {}).get(one.lane.encode(), b"0")
            seed.in_flight(one.lane, int(held) + 1)
    return seed
