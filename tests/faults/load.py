"""A load of every kind for the tests of replicas: flat jobs, lanes, limits, a ceiling, families, lapses and deaths.

`Load` runs calls one by one, by whatever client it is given, and remembers what it was promised: which jobs were
admitted, which it holds, and how often it was told that one is completed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from echomq.drivers.blocking import BlockingClient
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Claimed, ClaimedMany, Completed, Completion, Enqueued, NewJob, Taken, Token
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend import extend
from echomq.transitions.extend_many import extend_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.retry import retry
from echomq.transitions.set_concurrency import set_concurrency
from echomq.transitions.take import take
from echomq.transitions.wake import wake
from tests.harness.state import job_number
from tests.harness.wire import Part, Wire

__all__ = ["Load"]

_LANES = ["red", "blue", "green", None]
_LONG_MS = 600_000
_FAMILIES = 12
_ROUNDS = 20_000
Answer = TypeVar("Answer")


class Load:
    """One program on one queue. `client` may be replaced between two steps: it goes on with what it holds."""

    def __init__(self, client: BlockingClient, keys: QueueKeys, rng: Random) -> None:
        self.client, self.keys, self.rng = client, keys, rng
        self.admitted: set[JobId] = set()
        self.completed: Counter[JobId] = Counter()
        self.held: dict[JobId, Token] = {}
        self._steps: Sequence[Callable[[], None]] = (
            *[self.admit, self.admit, self.admit_to_lane, self.admit_many, self.admit_many, self.take, self.claim],
            *[self.claim_many, self.complete, self.complete, self.complete_many, self.fail, self.release],
            *[self.extend, self.move, self.turn, self.wake],
        )

    def step(self) -> None:
        """Do something."""
        self.rng.choice(self._steps)()

    def begin(self, wire: Wire) -> None:
        """Set the queue up, with families as another speaker makes them: parents that wait for their children."""
        self.client.run(set_concurrency(self.keys, 40))
        self.client.run(glimit(self.keys, "red", 3))
        self.client.run(gweight(self.keys, "blue", 2))
        for number in range(_FAMILIES):
            parent, children = self._new(), [self._new(), self._new()]
            row = self.keys.job(parent)
            lane = self.rng.choice(["", "red", "blue"])
            fields: list[Part] = [
                "state",
                "awaiting_children",
                "attempts",
                0,
                "payload",
                "p",
                *(["group", lane] if lane else []),
            ]
            wire.ask("HSET", row, *fields)
            wire.ask("SET", row + b":dependencies", len(children))
            self.client.run(enqueue_many(self.keys, [NewJob(child, b"c", 2) for child in children]))
            for child in children:
                policy = ["parent_policy", "id"] if number % 2 else []
                wire.ask("HSET", self.keys.job(child), "parent", bytes(parent), *policy)

    def finish(self) -> None:
        """Bring every job to its end, with no further failure."""
        for _ in range(_ROUNDS):
            while self.held:
                self.complete_many()
            if self.completed.keys() >= self.admitted:
                return
            self.client.run(promote(self.keys))
            self.client.run(reap(self.keys))
            self.client.run(reprocess_many(self.keys, fresh=True))
            taken = self.client.run(take(self.keys, lease_ms=_LONG_MS, size=50))
            assert isinstance(taken, Taken)
            self._hold(taken.jobs)
        raise AssertionError(f"these never came: {self.admitted - self.completed.keys()}")

    # --- steps ------------------------------------------------------------------------------------------------------

    def _new(self) -> JobId:
        job = job_number(len(self.admitted) + 1)
        self.admitted.add(job)
        return job

    def _hold(self, jobs: Sequence[Claimed]) -> None:
        self.held.update((job.job, job.token) for job in jobs)

    def _one(self) -> tuple[JobId, Token] | None:
        return self.rng.choice(list(self.held.items())) if self.held else None

    def _count(self, job: JobId, answer: object) -> None:
        if isinstance(answer, Completed):
            self.completed[job] += 1

    def _lease_ms(self) -> int:
        return self.rng.choice([1, _LONG_MS, _LONG_MS, _LONG_MS])

    def admit(self) -> None:
        job = job_number(len(self.admitted) + 1)
        assert isinstance(self.client.run(enqueue(self.keys, job, b"x", max_attempts=3)), Enqueued)
        self.admitted.add(job)

    def admit_to_lane(self) -> None:
        job, lane = job_number(len(self.admitted) + 1), self.rng.choice(["red", "blue", "green"])
        assert isinstance(self.client.run(genqueue(self.keys, job, b"x", lane=lane)), Enqueued)
        self.admitted.add(job)

    def admit_many(self) -> None:
        first, count = len(self.admitted) + 1, self.rng.randint(1, 9)
        lanes = self.rng.choices(_LANES, k=count)
        jobs = [NewJob(job_number(first + n), b"x", lane=lane) for n, lane in enumerate(lanes)]
        assert all(isinstance(answer, Enqueued) for answer in self.client.run(enqueue_many(self.keys, jobs)))
        self.admitted.update(job.job for job in jobs)

    def take(self) -> None:
        taken = self.client.run(
            take(self.keys, lease_ms=self._lease_ms(), size=self.rng.randint(1, 8), worth=b"3", watcher="load")
        )
        assert isinstance(taken, Taken)
        self._hold(taken.jobs)

    def claim(self) -> None:
        answer = self.client.run(claim(self.keys, lease_ms=self._lease_ms()))
        self._hold([answer] if isinstance(answer, Claimed) else [])

    def claim_many(self) -> None:
        answer = self.client.run(claim_many(self.keys, lease_ms=self._lease_ms(), size=3))
        assert isinstance(answer, ClaimedMany)
        self._hold(answer.jobs)

    def turn(self) -> None:
        answer = self.client.run(gclaim(self.keys, lease_ms=self._lease_ms()))
        self._hold([answer] if isinstance(answer, Claimed) else [])
        for many in (gwclaim(self.keys, lease_ms=_LONG_MS), gbclaim(self.keys, lease_ms=_LONG_MS, cap=3)):
            jobs = self.client.run(many)
            assert isinstance(jobs, tuple)
            self._hold(jobs)

    def _settled(self, job: JobId, call: Call[Answer]) -> Answer:
        answer = self.client.run(call)
        self.held.pop(job, None)
        return answer

    def complete(self) -> None:
        if one := self._one():
            answer = self._settled(one[0], complete(self.keys, *one, result=b"r", result_ttl_ms=_LONG_MS))
            self._count(one[0], answer)

    def complete_many(self) -> None:
        some = [Completion(job, token) for job, token in list(self.held.items())[:9]]
        if not some:
            return
        answers = self.client.run(complete_many(self.keys, some))
        for one, answer in zip(some, answers, strict=True):
            self._count(one.job, answer)
            del self.held[one.job]

    def fail(self) -> None:
        if one := self._one():
            self._settled(
                one[0], retry(self.keys, *one, delay_ms=self.rng.choice([0, 300]), max_attempts=2, error="no")
            )

    def release(self) -> None:
        if one := self._one():
            self._settled(one[0], release(self.keys, *one))

    def extend(self) -> None:
        if one := self._one():
            self.client.run(extend(self.keys, *one, lease_ms=_LONG_MS))
            self.client.run(extend_many(self.keys, list(self.held.items())[:9], lease_ms=_LONG_MS))

    def move(self) -> None:
        self.client.run(promote(self.keys))
        self.client.run(reap(self.keys, max_attempts=3))

    def wake(self) -> None:
        self.client.run(wake(self.keys, worth=self.rng.randint(1, 5), watcher=self.rng.choice([None, "load"])))
