"""Random programs over one queue whose workers wait in EMQ.TAKE … BLOCK, some of them parked on the list.

After each step all answers are read, as far as they go: whoever got jobs is busy or asks again, whoever got none asks
again. Then nobody may wait while something is there for it.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from random import Random
from typing import Final, Self, cast

from echomq.carriers.lua import LuaCarrier
from echomq.drivers.blocking import BlockingClient
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Completion, NewJob, Token
from echomq.resp.reply import Reply
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gweight import gweight
from echomq.transitions.pause import pause
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.resume import resume
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_in
from echomq.transitions.set_concurrency import set_concurrency
from tests.harness.state import job_number
from tests.harness.wire import Wire
from tests.module.waiters import Asked, Told, Waiter, blocked_clients, take_words
from tests.servers import RealServer

__all__ = ["Program"]

_LANES: Final = ("PRT00000000001", "mail", "z")
_ROUNDS_MAX: Final = 300
_HOUR_MS: Final = 3_600_000
_DEADLINE_S: Final = 20.0


@dataclass(slots=True)
class _Worker:
    """One connection: it waits on the server, or is parked on the list, or is busy."""

    line: Waiter
    size: int
    is_parked_on_list: bool
    waits: bool = False
    has_waited: bool = False
    """Not if it had its answer at once, which it may have while others wait: for them, somebody else holds a token."""


@dataclass(slots=True)
class Program:
    """See the module. `exact`: only speakers that keep rule 12 to the letter take part, so the list strands nobody."""

    server: RealServer
    keys: QueueKeys
    random: Random
    exact: bool
    stack: ExitStack = field(default_factory=ExitStack)
    held: dict[bytes, int] = field(default_factory=dict)
    order: list[_Worker] = field(default_factory=list)
    workers: list[_Worker] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    admitted: int = 0
    completed: int = 0
    outside: int = 0

    def __post_init__(self) -> None:
        self.wire = self.stack.enter_context(Wire(self.server.unix_path))
        options = ConnectionOptions(url=self.server.url)
        self.clients = [
            self.stack.enter_context(BlockingClient(options)),
            self.stack.enter_context(BlockingClient(options, new_carrier=LuaCarrier)),
        ]
        self.outside = blocked_clients(self.wire)

    wire: Wire = field(init=False)
    clients: list[BlockingClient] = field(init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stack.close()

    @property
    def client(self) -> BlockingClient:
        """Somebody who speaks by the module's commands, or by the scripts."""
        return self.random.choice(self.clients)

    # --- workers ----------------------------------------------------------------------------------------------------

    def hire(self, *, on_list: bool) -> None:
        line = self.stack.enter_context(closing(Waiter(self.server.unix_path)))
        worker = _Worker(line, self.random.choice((1, 1, 2, 5)), on_list)
        self.workers.append(worker)
        self._ask(worker)

    def _ask(self, worker: _Worker) -> None:
        """Let it ask, and come back when it waits or is answered."""
        if worker.is_parked_on_list:
            if not self._take(worker, b""):
                return
            worker.line.wire.send([("BLPOP", self.keys.wake, 600)])
        else:
            worker.line.ask(self.keys, Asked(size=worker.size, park_ms=_HOUR_MS, block_ms=_HOUR_MS))
        worker.waits = True
        self.order.append(worker)
        self._await_calm()
        worker.has_waited = not worker.line.is_answered()

    def _await_calm(self) -> None:
        """Return when each of those who asked waits or has its answer."""
        deadline = time.monotonic() + _DEADLINE_S
        while blocked_clients(self.wire) - self.outside != sum(not each.line.is_answered() for each in self.order):
            assert time.monotonic() < deadline, "somebody neither waits nor is answered"

    def _take(self, worker: _Worker, worth: bytes) -> bool:
        """A take that does not wait. Whether it may park then."""
        reply = worker.line.wire.ask(*take_words(self.keys, _HOUR_MS, worker.size, worth, "", _HOUR_MS))
        assert isinstance(reply, list), reply
        told = Told.of([*reply, 0])
        self._note(told)
        if told.more and not told.ids:
            return self._take(worker, b"")
        return not told.more and len(told.ids) < worker.size

    def _note(self, told: Told) -> None:
        for job, token, _ in told.jobs:
            assert job not in self.held, f"{job!r} is held by two"
            self.held[job] = token
        if told.due:
            self.client.run(promote(self.keys))
            self.client.run(reap(self.keys))

    def _answered(self, worker: _Worker) -> None:
        worker.waits = False
        self.order.remove(worker)
        if worker.is_parked_on_list:
            reply = worker.line.wire.receive()
            assert isinstance(reply, list), reply
            if self._take(worker, cast("bytes", reply[1])) or self.random.random() < 0.5:
                self._ask(worker)
            return
        told = worker.line.answer()
        self._note(told)
        if not told.ids or self.random.random() < 0.5:
            self._ask(worker)

    # --- between steps ----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Read all answers until there are none, and look whether anybody waits for what is there."""
        for _ in range(_ROUNDS_MAX):
            self.wire.ask("PING")
            on_server = [worker for worker in self.order if worker.has_waited and not worker.is_parked_on_list]
            answered = [worker for worker in self.order if worker.line.is_answered()]
            first = [worker for worker in on_server if worker in answered]
            assert first == on_server[: len(first)], "somebody was answered before one who has waited longer"
            if not answered:
                return self._check()
            for worker in answered:
                self._answered(worker)
        raise AssertionError("the answers do not end")

    def _check(self) -> None:
        self._check_leases()
        servable = self._servable()
        stranded = [worker for worker in self.order if not worker.is_parked_on_list or self.exact]
        assert not (servable and stranded), f"{servable} can be served and somebody waits"
        if any(not worker.is_parked_on_list for worker in self.order):
            assert self.wire.ask("LRANGE", self.keys.wake, 0, -1) == [], "a token lies there and somebody waits"

    def _check_leases(self) -> None:
        active = cast("list[bytes]", self.wire.ask("ZRANGE", self.keys.active, 0, -1))
        assert set(active) == set(self.held)

    def _servable(self) -> list[bytes]:
        """Names of what a take would serve from, read key by key."""
        ask, keys = self.wire.ask, self.keys
        ceiling = cast("bytes | None", ask("HGET", keys.meta, "concurrency"))
        if ask("HEXISTS", keys.meta, "paused") or (ceiling and cast("int", ask("ZCARD", keys.active)) >= int(ceiling)):
            return []
        flat = [b"the flat set"] if ask("ZCARD", keys.pending) else []
        return flat + [lane.encode() for lane in _LANES if self._is_serviceable(lane)]

    def _is_serviceable(self, lane: str) -> bool:
        ask, keys = self.wire.ask, self.keys
        limit, flying = ask("HGET", keys.group_limit, lane), ask("HGET", keys.group_active, lane)
        is_full = limit is not None and int(cast("bytes", flying or b"0")) >= int(cast("bytes", limit))
        return bool(ask("ZCARD", keys.lane(lane))) and not ask("SISMEMBER", keys.paused, lane) and not is_full

    # --- steps ------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Do one thing at random."""
        everywhere: Sequence[Callable[[], object]] = (
            self._admit, self._admit, self._admit_to_lane, self._admit_to_lane, self._admit_many, self._complete,
            self._complete, self._complete_many, self._release, self._retry, self._schedule, self._promote, self._lapse,
            self._pause, self._resume, self._resume, self._pause_lane, self._resume_lane, self._resume_lane,
            self._limit, self._weight, self._ceiling, self._reassign, self._ask_again, self._ask_again, self._kill,
        )  # fmt: skip
        others = (self._plain_job, self._plain_job, self._ghost, self._admit_at_once, self._misplaced, self._unblock)
        step = self.random.choice(everywhere if self.exact else (*everywhere, *others))
        self.done.append(step.__name__)
        step()

    def _new(self) -> JobId:
        self.admitted += 1
        return job_number(self.admitted)

    def _lane(self) -> str:
        return self.random.choice(_LANES)

    def _some(self) -> tuple[JobId, Token] | None:
        if not self.held:
            return None
        job = self.random.choice(sorted(self.held))
        return JobId.parse(job.decode()), Token(self.held.pop(job))

    def _admit(self) -> None:
        self.client.run(enqueue(self.keys, self._new(), b"x"))

    def _admit_to_lane(self) -> None:
        self.client.run(genqueue(self.keys, self._new(), b"x", lane=self._lane()))

    def _admit_many(self) -> None:
        lanes = [self.random.choice((None, *_LANES)) for _ in range(self.random.randint(2, 12))]
        self.client.run(enqueue_many(self.keys, [NewJob(self._new(), b"x", lane=lane) for lane in lanes]))

    def _admit_at_once(self) -> None:
        keys, jobs = self.keys, [self._new() for _ in range(3)]
        admissions = [("EMQ.ENQUEUE", keys.job(job), keys.pending, keys.wake, job, "x") for job in jobs]
        self.wire.pipeline([("MULTI",), *admissions, ("EXEC",)])

    def _plain_job(self) -> None:
        job = self._new()
        self.wire.ask("HSET", self.keys.job(job), "state", "pending", "attempts", 0, "payload", "x")
        self.wire.ask("ZADD", self.keys.pending, 0, job)

    def _misplaced(self) -> None:
        job = self._new()
        fields = ("state", "pending", "attempts", 0, "payload", "x", "group", self._lane())
        self.wire.ask("HSET", self.keys.job(job), *fields)
        self.wire.ask("ZADD", self.keys.pending, 0, job)

    def _ghost(self) -> None:
        self.wire.ask("ZADD", self.keys.pending, 0, job_number(1_000_000 + self.random.randint(0, 9)))

    def _complete(self) -> None:
        if one := self._some():
            self.client.run(complete(self.keys, *one))
            self.completed += 1

    def _complete_many(self) -> None:
        some = [Completion(*one) for _ in range(self.random.randint(1, 5)) if (one := self._some())]
        if some:
            self.client.run(complete_many(self.keys, some))
            self.completed += len(some)

    def _release(self) -> None:
        if one := self._some():
            self.client.run(release(self.keys, *one))

    def _retry(self) -> None:
        if one := self._some():
            self.client.run(retry(self.keys, *one, delay_ms=0, max_attempts=1000, error="x"))
            self.client.run(promote(self.keys))

    def _schedule(self) -> None:
        lane = self.random.choice((None, *_LANES))
        self.client.run(enqueue_in(self.keys, self._new(), b"x", delay_ms=_HOUR_MS, lane=lane))

    def _promote(self) -> None:
        waiting = cast("list[bytes]", self.wire.ask("ZRANGE", self.keys.schedule, 0, 3))
        for job in waiting:
            self.wire.ask("ZADD", self.keys.schedule, 1, job)
        self.client.run(promote(self.keys))

    def _lapse(self) -> None:
        if one := self._some():
            self.wire.ask("ZADD", self.keys.active, 1, one[0])
            self.client.run(reap(self.keys))

    def _pause(self) -> None:
        self.client.run(pause(self.keys))

    def _resume(self) -> None:
        self.client.run(resume(self.keys))

    def _pause_lane(self) -> None:
        self.client.run(gpause(self.keys, self._lane()))

    def _resume_lane(self) -> None:
        self.client.run(gresume(self.keys, self._lane()))

    def _limit(self) -> None:
        self.client.run(glimit(self.keys, self._lane(), self.random.choice((None, 1, 2))))

    def _weight(self) -> None:
        self.client.run(gweight(self.keys, self._lane(), self.random.choice((None, 2, 3))))

    def _ceiling(self) -> None:
        self.client.run(set_concurrency(self.keys, self.random.choice((None, None, 1, 3, 6))))

    def _reassign(self) -> None:
        lane = self.keys.lane(self._lane())
        waiting = cast("list[bytes]", self.wire.ask("ZRANGE", lane, 0, 0))
        for job in waiting:
            self.client.run(greassign(self.keys, JobId.parse(job.decode()), self._lane()))

    def _ask_again(self) -> None:
        busy = [worker for worker in self.workers if not worker.waits]
        if busy:
            self._ask(self.random.choice(busy))

    def _kill(self) -> None:
        if not self.order or self.random.random() < 0.7:
            return
        gone = self.random.choice(self.order)
        assert self.wire.ask("CLIENT", "KILL", "ID", gone.line.id) == 1
        self.order.remove(gone)
        self.workers.remove(gone)
        gone.line.close()
        self._await_calm()
        self.hire(on_list=gone.is_parked_on_list)

    def _unblock(self) -> None:
        """The first who waits on the server: the others would be answered out of their order."""
        first = next((worker for worker in self.order if not worker.is_parked_on_list), None)
        if first is not None:
            assert self.wire.ask("CLIENT", "UNBLOCK", first.line.id) == 1

    # --- the end ----------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Let everything go. All that was admitted is done by those who wait."""
        run = self.clients[0].run
        for lane in _LANES:
            run(gresume(self.keys, lane))
            run(glimit(self.keys, lane, None))
        run(set_concurrency(self.keys, None))
        run(resume(self.keys))
        self.settle()
        for _ in range(_ROUNDS_MAX):
            for worker in self.workers:
                if not worker.waits:
                    self._ask(worker)
            self.settle()
            self._promote()
            self.settle()
            if not self.held:
                break
            while self.held:
                self._complete()
            self.settle()
        left: Reply = self.wire.ask("ZCARD", self.keys.schedule)
        assert (self.completed, left) == (self.admitted, 0)
