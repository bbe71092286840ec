"""The jobs of one queue: the protocol face for asyncio.

Each method is one transition: it builds the call with the transition's handle and has it run. What a method promises,
which answers it can give and whether it is safe to repeat stand at the handle, in `echomq.transitions`.

`blocking_jobs.py` is made from this file by `tools/blocking.py`; change this one.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol, TypeVar

from echomq.batches import BATCH_MAX, in_batches
from echomq.codec import check_size
from echomq.errors import EchoMQError, NodeLeaseLapsed
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.nodes import Lease, NodeHolder
from echomq.records import (
    Absent,
    ActiveJobs,
    Broken,
    BrowsedJob,
    Claimed,
    ClaimedMany,
    Completed,
    Completion,
    ConcurrencySet,
    Counts,
    Dead,
    Delayed,
    Drained,
    Duplicate,
    Empty,
    Enqueued,
    Extended,
    Failed,
    Finished,
    Gone,
    Locked,
    Logged,
    Logs,
    Metrics,
    MoreToObliterate,
    NewJob,
    NotDead,
    NotExtended,
    NotPaused,
    NotScheduled,
    Obliterated,
    Page,
    Paused,
    Promoted,
    PromotedMany,
    Purged,
    Reaped,
    Released,
    Removed,
    Repaired,
    Reprocessed,
    ReprocessedMany,
    Rescheduled,
    Resumed,
    Scheduled,
    Stale,
    StoredJob,
    Taken,
    Token,
    Updated,
    Waiting,
)
from echomq.states import COUNT_NAMES, CountName, JobState, SetName
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
from echomq.transitions.genqueue import genqueue
from echomq.transitions.get_job import get_job
from echomq.transitions.get_result import get_result
from echomq.transitions.get_state import get_state
from echomq.transitions.is_paused import is_paused
from echomq.transitions.logs import logs
from echomq.transitions.metrics import metrics
from echomq.transitions.obliterate import obliterate
from echomq.transitions.pause import pause
from echomq.transitions.promote import promote
from echomq.transitions.promote_now import promote_now
from echomq.transitions.purge import purge
from echomq.transitions.reap import reap
from echomq.transitions.release import release
from echomq.transitions.remove import remove
from echomq.transitions.repair import repair
from echomq.transitions.reprocess import reprocess
from echomq.transitions.reprocess_many import reprocess_many
from echomq.transitions.reschedule import reschedule
from echomq.transitions.resume import resume
from echomq.transitions.retry import retry
from echomq.transitions.schedule import enqueue_at, enqueue_in
from echomq.transitions.set_concurrency import set_concurrency
from echomq.transitions.take import take
from echomq.transitions.update_data import update_data
from echomq.transitions.update_progress import update_progress
from echomq.transitions.wake import wake

__all__ = ["Jobs", "Runner"]

A = TypeVar("A")

# How many calls go out together: enough to hide the round trip, few enough to keep buffers small.
_BATCHES_AT_ONCE = 16
_READS_AT_ONCE = 1000

# How often a job is minted anew when its fresh id exists already. Each time another node number is leased, so a second
# collision is next to impossible, and more mean a deployment that breaks what ids rest on.
_COLLISIONS_MAX = 8

# How often a lease is taken out, or waited for, before minting is given up.
_LEASES_MAX = 8


class Runner(Protocol):
    """What runs calls: a driver's client."""

    async def run(self, call: Call[A]) -> A:
        """Run one call and return its answer."""
        ...

    async def run_all(self, calls: Sequence[Call[A]]) -> list[A | EchoMQError]:
        """Run calls in one round trip and return each one's answer or exception, in order."""
        ...

    async def wait(self, future: "Future[None]") -> None:
        """Wait for what another task or thread does. Raises what prevented it."""
        ...


class Jobs:
    """The jobs of one queue.

    Made by `EchoMQ.jobs`.

    Ids may be given as `JobId` or as text; text is checked first. Payloads, results, progress and log lines are bytes
    of at most `payload_bytes_max`. Every method can raise `ConnectionFailed` (nothing was sent), `Unknown` (sent, but
    the link was lost: the exception says whether repeating is safe) and `ServerError` (the server refused the
    transition as a whole).
    """

    def __init__(self, queue: str, runner: Runner, nodes: NodeHolder, *, payload_bytes_max: int) -> None:
        self._keys = QueueKeys(queue)
        self._runner = runner
        self._nodes = nodes
        self._payload_bytes_max = payload_bytes_max

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.queue!r})"

    @property
    def queue(self) -> str:
        """The queue's name."""
        return self._keys.queue

    @property
    def keys(self) -> QueueKeys:
        """The queue's keys."""
        return self._keys

    # --- admission --------------------------------------------------------------------------------------------------

    async def mint(self) -> JobId:
        """Return a new id, later than every id minted here before. Leases a node number first when none is held.

        Mint an id yourself and pass it on to make an admission repeatable: see `enqueue`. Raises `NodesExhausted` when
        all 1024 numbers of the deployment are leased.
        """
        for _ in range(_LEASES_MAX):
            due = self._nodes.due()
            if due is not None:
                await self._lease(due)
            try:
                return self._nodes.mint()
            except NodeLeaseLapsed:  # the clock jumped, or another thread returned the number
                continue
        raise NodeLeaseLapsed

    async def enqueue(
        self,
        payload: bytes,
        *,
        lane: str | None = None,
        job: JobId | str | None = None,
        max_attempts: int | None = None,
    ) -> Enqueued | Duplicate:
        """Admit a job that is ready to run, under `job` or a new id (protocol 4.1, 4.16.1).

        With `lane` it waits in that lane, and lanes are served in turns; else it waits in the flat set, which has turns
        as one lane more. Repeating with the same `job` is safe until it has completed: the answer is then `Duplicate`,
        a success, and the job stays in the lane where it is. Without `job` the answer is never `Duplicate`: a fresh id
        that exists already was minted twice, and another is minted. `max_attempts` is the job's own cap; without it the
        worker's applies. Raises `InvalidName` for what is no name of a lane.
        """
        check_size("payload", payload, self._payload_bytes_max)
        return await self._admit(job, lambda new: self._ready(new, payload, lane, max_attempts))

    async def enqueue_at(
        self,
        payload: bytes,
        *,
        at_ms: int,
        lane: str | None = None,
        job: JobId | str | None = None,
        max_attempts: int | None = None,
    ) -> Scheduled | Duplicate:
        """Admit a job that is due at an instant, in Unix ms; a past one is due at once (protocol 4.2).

        With `lane` it goes into that lane when it is due (ours).
        """
        check_size("payload", payload, self._payload_bytes_max)
        return await self._admit(
            job, lambda new: enqueue_at(self._keys, new, payload, at_ms=at_ms, lane=lane, max_attempts=max_attempts)
        )

    async def enqueue_in(
        self,
        payload: bytes,
        *,
        delay_ms: int,
        lane: str | None = None,
        job: JobId | str | None = None,
        max_attempts: int | None = None,
    ) -> Scheduled | Duplicate:
        """Admit a job that is due after a delay, in ms on the server's clock (protocol 4.2).

        With `lane` it goes into that lane when it is due (ours).
        """
        check_size("payload", payload, self._payload_bytes_max)
        return await self._admit(
            job,
            lambda new: enqueue_in(self._keys, new, payload, delay_ms=delay_ms, lane=lane, max_attempts=max_attempts),
        )

    async def enqueue_many(
        self, jobs: Iterable[bytes | NewJob], *, lane: str | None = None, max_attempts: int | None = None
    ) -> list[Enqueued | Duplicate]:
        """Admit many jobs and return one answer for each, in order (ours).

        An item is a payload, which gets a new id, `lane` and `max_attempts`; or a `NewJob`, which says all of that
        itself, so that one call can fill many lanes. Up to 1000 jobs or 4 MiB are one atomic step; the steps of a call
        go out together. All items are checked before the first is sent. When a step fails its exception is raised, and
        other steps may have landed: repeat the whole call with `NewJob`s, and those already admitted are answered
        `Duplicate`.
        """
        new: list[NewJob] = []
        minted: set[int] = set()
        for at, item in enumerate(jobs):
            if isinstance(item, NewJob):
                new.append(item)
            else:
                new.append(NewJob(await self.mint(), item, max_attempts, lane))
                minted.add(at)
            check_size("payload", new[at].payload, self._payload_bytes_max)
        answers = await self._admit_all(new)
        for _ in range(_COLLISIONS_MAX):
            again = [at for at, answer in enumerate(answers) if at in minted and isinstance(answer, Duplicate)]
            if not again:
                break
            renamed = [replace(new[at], job=await self._mint_after_collision(new[at].job)) for at in again]
            for at, made, answer in zip(again, renamed, await self._admit_all(renamed), strict=True):
                new[at], answers[at] = made, answer
        return answers

    # --- claiming and settling --------------------------------------------------------------------------------------

    async def claim(self, *, lease_ms: int) -> Claimed | Empty | Paused:
        """Lease the oldest ready job that has no lane, for `lease_ms` (protocol 4.4). Asks for the pause first.

        `Claimed.token` is the attempt's number: every later call about this attempt carries it. Not repeatable: after
        `Unknown`, the job that may have been leased comes back when its lease lapses.
        """
        if await self._runner.run(is_paused(self._keys)):
            return Paused()
        return await self._runner.run(claim(self._keys, lease_ms=lease_ms))

    async def claim_many(self, *, lease_ms: int, size: int) -> ClaimedMany | Paused:
        """Lease up to `size` ready jobs of no lane (1..1000) on one deadline (ours).

        The pause is tested in the same step. `take` serves lanes too.
        """
        return await self._runner.run(claim_many(self._keys, lease_ms=lease_ms, size=size))

    async def take(
        self, *, lease_ms: int, size: int, worth: bytes = b"", watcher: str | None = None, park_ms: int = 1000
    ) -> Taken | Paused:
        """Lease up to `size` ready jobs (1..1000), lane by lane and the flat set in turns, on one deadline (ours).

        The worker's claim. Repeat it at once while the answer says `more`; call `promote` and `reap` when it says
        `due`; else wait for a wake-up, `wait_ms` at most. `worth` is the text of the wake-up that the caller got, or
        ``b"beat"`` when it waited and none came. A caller that names itself as `watcher` may be told to watch for due
        and lapsed jobs; one that goes away then calls `wake`. Not repeatable, like `claim`.
        """
        return await self._runner.run(
            take(self._keys, lease_ms=lease_ms, size=size, worth=worth, watcher=watcher, park_ms=park_ms)
        )

    async def wake(self, *, worth: int, watcher: str | None = None) -> bool:
        """Pass a wake-up of `worth` jobs (1..1000) on, and stop watching, before the caller waits no more (ours).

        Returns whether one was left; none is where nothing waits or where one lies already. Safe to repeat.
        """
        return await self._runner.run(wake(self._keys, worth=worth, watcher=watcher))

    async def complete(
        self, job: JobId | str, token: Token, *, result: bytes | None = None, result_ttl_ms: int | None = None
    ) -> Completed | Gone | Stale:
        """Report a job as done (protocol 4.6). With `result_ttl_ms` the result is kept for that long, for `result`.

        `Stale`: another attempt decides about the job now, and your result was refused. `Gone`: it was completed or
        removed.
        """
        if result is not None:
            check_size("result", result, self._payload_bytes_max)
        return await self._runner.run(
            complete(self._keys, JobId.parse(job), token, result=result, result_ttl_ms=result_ttl_ms)
        )

    async def complete_many(self, items: Sequence[Completion]) -> list[Completed | Gone | Stale | Broken]:
        """Report many jobs as done, each on its own, in one round trip; one answer for each, in order (ours)."""
        for item in items:
            if item.result is not None:
                check_size("result", item.result, self._payload_bytes_max)
        calls = [complete_many(self._keys, batch) for batch in in_batches(items, _result_bytes)]
        return [answer for slice_ in await self._all(calls) for answer in slice_]

    async def retry(
        self, job: JobId | str, token: Token, *, delay_ms: int, max_attempts: int, error: str
    ) -> Scheduled | Dead | Stale:
        """Report an attempt as failed (protocol 4.7): again after `delay_ms`, or dead when its attempts are spent.

        The job's own `max_attempts` takes the place of the argument, except that 0 means dead at once.
        """
        return await self._runner.run(
            retry(self._keys, JobId.parse(job), token, delay_ms=delay_ms, max_attempts=max_attempts, error=error)
        )

    async def release(self, job: JobId | str, token: Token) -> Released | Stale | Gone:
        """Give a leased job back, ready at once, without spending the attempt (ours)."""
        return await self._runner.run(release(self._keys, JobId.parse(job), token))

    async def delay(
        self,
        job: JobId | str,
        token: Token,
        *,
        delay_ms: int | None = None,
        at_ms: int | None = None,
        unspent: bool = False,
    ) -> Delayed | Gone | Stale:
        """Postpone a leased job (protocol 4.8). With `unspent` this attempt does not count against the cap."""
        return await self._runner.run(
            delay(self._keys, JobId.parse(job), token, delay_ms=delay_ms, at_ms=at_ms, unspent=unspent)
        )

    async def extend(self, job: JobId | str, token: Token, *, lease_ms: int) -> Extended | Gone | Stale:
        """Keep a leased job for `lease_ms` from now (protocol 4.12). On `Stale` or `Gone` stop working on it."""
        return await self._runner.run(extend(self._keys, JobId.parse(job), token, lease_ms=lease_ms))

    async def extend_many(self, jobs: Sequence[tuple[JobId, Token]], *, lease_ms: int) -> NotExtended:
        """Keep many leased jobs for `lease_ms` from now; the answer names those that were not extended."""
        calls = [
            extend_many(self._keys, jobs[at : at + BATCH_MAX], lease_ms=lease_ms)
            for at in range(0, len(jobs), BATCH_MAX)
        ]
        return NotExtended(tuple(job for slice_ in await self._all(calls) for job in slice_.jobs))

    # --- moving -----------------------------------------------------------------------------------------------------

    async def reschedule(
        self, job: JobId | str, *, delay_ms: int | None = None, at_ms: int | None = None
    ) -> Rescheduled | NotScheduled | Gone:
        """Give a scheduled job another instant, sooner or later (ours)."""
        return await self._runner.run(reschedule(self._keys, JobId.parse(job), delay_ms=delay_ms, at_ms=at_ms))

    async def promote(self, *, limit: int = 100) -> PromotedMany:
        """Make due jobs ready, the longest due first, at most `limit` (protocol 4.9). A worker does this by itself."""
        return await self._runner.run(promote(self._keys, limit=limit))

    async def promote_now(self, job: JobId | str) -> Promoted | NotScheduled | Gone:
        """Make one scheduled job ready at once (ours)."""
        return await self._runner.run(promote_now(self._keys, JobId.parse(job)))

    async def reap(self, *, limit: int = 100, max_attempts: int | None = None) -> Reaped:
        """Take back jobs whose lease lapsed (protocol 4.10). A worker does this by itself.

        A job that has spent its attempts goes to `dead`: by its own cap, or else by `max_attempts`, if that is given.
        """
        return await self._runner.run(reap(self._keys, limit=limit, max_attempts=max_attempts))

    async def remove(self, job: JobId | str, *, dedup_id: str | None = None) -> Removed | Gone | Locked:
        """Delete a job from wherever it is, with its logs, result and, if named, its dedup key (protocol 4.14)."""
        return await self._runner.run(remove(self._keys, JobId.parse(job), dedup_id=dedup_id))

    async def reprocess(self, job: JobId | str, *, fresh: bool = False) -> Reprocessed | NotDead | Gone:
        """Make a dead job ready again (protocol 4.15). With `fresh` its cap counts from zero again."""
        return await self._runner.run(reprocess(self._keys, JobId.parse(job), fresh=fresh))

    async def reprocess_many(
        self, *, limit: int = 100, after: JobId | None = None, fresh: bool = False
    ) -> ReprocessedMany:
        """Make a slice of the dead ready again, oldest first. Call again with the answer's `after` (ours)."""
        return await self._runner.run(reprocess_many(self._keys, limit=limit, after=after, fresh=fresh))

    async def purge(self, *, age_ms: int, limit: int = 100, after: JobId | None = None) -> Purged:
        """Delete a slice of those dead for `age_ms` or longer. Call again with the answer's `after` (ours)."""
        return await self._runner.run(purge(self._keys, age_ms=age_ms, limit=limit, after=after))

    async def repair(self, *, cursor: str | None = None, budget: int = 1000) -> Repaired:
        """Put back jobs that are in no set, after somebody deleted entries by hand (ours).

        Walks the keyspace in slices: for operators, not for a hot path. Call again with the answer's `cursor`.
        """
        return await self._runner.run(repair(self._keys, cursor=cursor, budget=budget))

    # --- data -------------------------------------------------------------------------------------------------------

    async def update_data(
        self, job: JobId | str, payload: bytes, *, token: Token | None = None
    ) -> Updated | Gone | Stale:
        """Replace a job's payload (protocol 4.13). With `token`, only while that attempt is the current one."""
        check_size("payload", payload, self._payload_bytes_max)
        return await self._runner.run(update_data(self._keys, JobId.parse(job), payload, token=token))

    async def update_progress(
        self, job: JobId | str, progress: bytes, *, token: Token | None = None
    ) -> Updated | Gone | Stale:
        """Set a job's progress and publish it on the queue's events channel (protocol 4.13). Fenced by `token`."""
        check_size("progress", progress, self._payload_bytes_max)
        return await self._runner.run(update_progress(self._keys, JobId.parse(job), progress, token=token))

    async def add_log(
        self, job: JobId | str, line: bytes, *, keep: int | None = 1000, token: Token | None = None
    ) -> Logged | Gone | Stale:
        """Append a line to a job's log and keep the last `keep`; None keeps all (protocol 4.13). Fenced by `token`."""
        check_size("log line", line, self._payload_bytes_max)
        return await self._runner.run(add_log(self._keys, JobId.parse(job), line, keep=keep, token=token))

    async def logs(self, job: JobId | str, *, start: int = 0, count: int = BATCH_MAX) -> Logs | Gone:
        """Return up to `count` lines of a job's log from `start` on, the oldest being 0."""
        return await self._runner.run(logs(self._keys, JobId.parse(job), start=start, count=count))

    # --- reading ----------------------------------------------------------------------------------------------------

    async def browse(
        self,
        name: SetName | str,
        *,
        lane: str | None = None,
        limit: int = 100,
        newest_first: bool | None = None,
        after: BrowsedJob | None = None,
    ) -> Page:
        """Return a page of `pending`, `active`, `schedule` or `dead`. Ask for the next with the page's `after` (ours).

        `scheduled`, as the state is called, is `schedule` too.

        By default `pending` and `dead` come newest mint first, `active` and `schedule` soonest first. What waits in a
        lane is not in `pending`: name the `lane`, which goes with `pending` alone.
        """
        return await self._runner.run(
            browse(self._keys, SetName(name), lane=lane, limit=limit, newest_first=newest_first, after=after)
        )

    async def counts(self, names: Sequence[CountName | str] = COUNT_NAMES) -> Counts:
        """Return how many jobs are in each set, and how many completed and failed so far (protocol 4.18.6).

        What waits in lanes is in none of them: `Lanes.list_all` tells how many there are.
        """
        return await self._runner.run(counts(self._keys, names))

    async def metrics(self, name: CountName | str) -> Metrics:
        """Return how often jobs `completed` or `failed` (protocol 4.18.8)."""
        return await self._runner.run(metrics(self._keys, CountName(name)))

    async def get_job(self, job: JobId | str) -> StoredJob | Absent:
        """Return a job's row (protocol 4.18.7)."""
        return await self._runner.run(get_job(self._keys, JobId.parse(job)))

    async def get_state(self, job: JobId | str) -> JobState:
        """Return where a job is (protocol 4.18.7)."""
        return await self._runner.run(get_state(self._keys, JobId.parse(job)))

    async def get_result(self, job: JobId | str) -> Finished | Failed | Waiting | Gone:
        """Return how a job ended, while its result is kept, or that it has not ended yet (ours)."""
        return await self._runner.run(get_result(self._keys, JobId.parse(job)))

    async def get_results(self, jobs: Sequence[JobId | str]) -> list[Finished | Failed | Waiting | Gone]:
        """Return how many jobs ended, in one round trip; one answer for each, in order."""
        return await self._all([get_result(self._keys, JobId.parse(job)) for job in jobs], at_once=_READS_AT_ONCE)

    # --- the queue --------------------------------------------------------------------------------------------------

    async def pause(self) -> Paused:
        """Pause the queue: claims answer `Paused`, running jobs go on (protocol 4.18.2). Safe to repeat."""
        return await self._runner.run(pause(self._keys))

    async def resume(self) -> Resumed:
        """End a pause (protocol 4.18.2). Safe to repeat."""
        return await self._runner.run(resume(self._keys))

    async def is_paused(self) -> bool:
        """Return whether the queue is paused (protocol 4.18.2)."""
        return await self._runner.run(is_paused(self._keys))

    async def set_concurrency(self, most: int | None) -> ConcurrencySet:
        """Set how many jobs of the queue may be in flight at once, or take the ceiling away with None (ours).

        `take` and `claim_many` honour it, so workers do; the published claims do not. A lower ceiling ends nothing that
        runs. Safe to repeat.
        """
        return await self._runner.run(set_concurrency(self._keys, most))

    async def drain(self, *, schedule: bool = False, limit: int = BATCH_MAX) -> Drained:
        """Delete a slice of the waiting jobs, and of the scheduled ones if asked (protocol 4.18.3).

        The lanes keep theirs: `Lanes.drain`.
        """
        return await self._runner.run(drain(self._keys, schedule=schedule, limit=limit))

    async def obliterate(
        self, *, force: bool = False, budget: int = BATCH_MAX, cursor: str | None = None
    ) -> Obliterated | MoreToObliterate | NotPaused | ActiveJobs:
        """Delete a slice of a paused queue with all it has. Call again with the answer's `cursor` (protocol 4.18.4).

        Pause it first: the answer is `NotPaused` else, also with `force`, and nothing was deleted. `ActiveJobs` means
        that jobs are running; `force` deletes them too.
        """
        return await self._runner.run(obliterate(self._keys, force=force, budget=budget, cursor=cursor))

    def _ready(
        self, job: JobId, payload: bytes, lane: str | None, max_attempts: int | None
    ) -> Call[Enqueued | Duplicate]:
        if lane is None:
            return enqueue(self._keys, job, payload, max_attempts=max_attempts)
        return genqueue(self._keys, job, payload, lane=lane, max_attempts=max_attempts)

    async def _admit(self, job: JobId | str | None, call_for: Callable[[JobId], Call[A]]) -> A:
        """Admit under the id given, or under a new one: then "duplicate" means that the id was minted twice."""
        if job is not None:
            return await self._runner.run(call_for(JobId.parse(job)))
        new = await self.mint()
        answer = await self._runner.run(call_for(new))
        for _ in range(_COLLISIONS_MAX):
            if not isinstance(answer, Duplicate):
                break
            new = await self._mint_after_collision(new)
            answer = await self._runner.run(call_for(new))
        return answer

    async def _lease(self, due: "Lease | Future[None]") -> None:
        """Lease a node number, or wait for whoever does."""
        if not isinstance(due, Lease):
            await self._runner.wait(due)
            return
        try:
            answer = await self._runner.run(due.call)
        except BaseException as error:
            self._nodes.failed(due, error)
            raise
        self._nodes.accept(due, answer)

    async def _admit_all(self, new: Sequence[NewJob]) -> list[Enqueued | Duplicate]:
        calls = [enqueue_many(self._keys, batch) for batch in in_batches(new, _payload_bytes)]
        return [answer for slice_ in await self._all(calls) for answer in slice_]

    async def _mint_after_collision(self, job: JobId) -> JobId:
        """Give up the node number that made an id twice, and mint with another."""
        self._nodes.collided(job)
        return await self.mint()

    async def _all(self, calls: Sequence[Call[A]], *, at_once: int = _BATCHES_AT_ONCE) -> list[A]:
        answers: list[A] = []
        for at in range(0, len(calls), at_once):
            for answer in await self._runner.run_all(calls[at : at + at_once]):
                if isinstance(answer, EchoMQError):
                    raise answer
                answers.append(answer)
        return answers


def _payload_bytes(new: NewJob) -> int:
    return len(new.payload)


def _result_bytes(item: Completion) -> int:
    return len(item.result or b"")
