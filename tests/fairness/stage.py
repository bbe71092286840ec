"""A queue of tenants on one body, driven call by call without waiting, and what was started, in order.

The bodies here are not those of `tests/harness`: nothing compares whole states, so calls may follow at full speed.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from echomq.batches import BATCH_MAX
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.model.keyspace import Keyspace
from echomq.model.queue import Model
from echomq.records import Claimed, Completed, Completion, NewJob, Scheduled, Taken
from echomq.resp.reply import ErrorReply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from echomq.transitions.complete_many import complete_many
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.promote import promote
from echomq.transitions.reap import reap
from echomq.transitions.retry import retry
from echomq.transitions.take import take
from tests.harness.module import is_served, served_commands
from tests.harness.state import HOUR, job_number
from tests.harness.wire import Wire

__all__ = ["Lua", "Native", "Plain", "Runner", "Tenants", "slices"]

Answer = TypeVar("Answer")
Item = TypeVar("Item")

FOR_EVER = 10**9
"""A cap that no job of a test reaches."""


class Runner(Protocol):
    """One body over a database of its own."""

    def run(self, call: Call[Answer]) -> Answer:
        """Run the call and return its answer. Raises what the handle raises."""
        ...


class Lua:
    """The Lua bodies on a real server."""

    def __init__(self, unix_path: str) -> None:
        self.wire = Wire(unix_path)

    def run(self, call: Call[Answer]) -> Answer:
        body = body_of(call.transition)
        rest = (len(call.keys), *call.keys, *call.args)
        reply = self.wire.ask(b"EVALSHA", body.sha1, *rest)
        if isinstance(reply, ErrorReply) and reply.word == "NOSCRIPT":
            reply = self.wire.ask(b"EVAL", body.text, *rest)
        return call.decode(reply)


class Native(Lua):
    """The commands of the module on a real server that has it loaded; what it lacks runs by its script."""

    def __init__(self, unix_path: str) -> None:
        super().__init__(unix_path)
        self.commands = served_commands(self.wire)

    def run(self, call: Call[Answer]) -> Answer:
        if not is_served(self.commands, call):
            return super().run(call)
        return call.decode(self.wire.ask(f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args))


class Plain:
    """The model. Each call takes a millisecond."""

    def __init__(self) -> None:
        self.keyspace = Keyspace()
        self._model = Model(self.keyspace)

    def run(self, call: Call[Answer]) -> Answer:
        self.keyspace.advance(1)
        return self._model.run(call)


class Tenants:
    """Lanes with jobs, and claimers that take them. `starts` are the lanes of all jobs taken so far, in order."""

    def __init__(self, runner: Runner, keys: QueueKeys) -> None:
        self.runner = runner
        self.keys = keys
        self.starts: list[str | None] = []
        self.attempts: list[Claimed] = []
        self.completed = 0
        self._numbers = itertools.count(1)

    def run(self, call: Call[Answer]) -> Answer:
        return self.runner.run(call)

    def admit(self, lane: str | None, count: int) -> list[JobId]:
        """Let so many new jobs wait in the lane, minted after all others."""
        ids = [job_number(next(self._numbers)) for _ in range(count)]
        for batch in slices(ids, BATCH_MAX):
            self.run(enqueue_many(self.keys, [NewJob(job, b"", lane=lane) for job in batch]))
        return ids

    def take(self, size: int, *, lease_ms: int = HOUR) -> tuple[Claimed, ...]:
        """Claim as a worker does, and note what was started."""
        taken = self.run(take(self.keys, lease_ms=lease_ms, size=size))
        assert isinstance(taken, Taken), taken
        self.starts += [one.lane for one in taken.jobs]
        self.attempts += taken.jobs
        return taken.jobs

    def end(self, jobs: Iterable[Claimed]) -> None:
        """The jobs are done."""
        for batch in slices(list(jobs), BATCH_MAX):
            answers = self.run(complete_many(self.keys, [Completion(one.job, one.token) for one in batch]))
            assert all(isinstance(answer, Completed) for answer in answers), answers
            self.completed += len(batch)

    def fail(self, jobs: Iterable[Claimed]) -> None:
        """The jobs fail, and return to their lanes at once."""
        failed = list(jobs)
        for one in failed:
            call = retry(self.keys, one.job, one.token, delay_ms=0, max_attempts=FOR_EVER, error="boom")
            assert isinstance(self.run(call), Scheduled)
        for _ in slices(failed, BATCH_MAX):
            self.run(promote(self.keys, limit=BATCH_MAX))

    def reap(self) -> int:
        """Take back what claimers that died held, as far as their leases have lapsed. Return how many."""
        return len(self.run(reap(self.keys, limit=BATCH_MAX, max_attempts=FOR_EVER)).recovered)


def slices(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Return the items in slices of at most `size`."""
    return (items[at : at + size] for at in range(0, len(items), size))
