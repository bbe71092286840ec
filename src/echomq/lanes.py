"""The lanes of one queue: the lane verbs for asyncio.

A lane is the set of waiting jobs of one group: of one tenant, as a rule. They are served in turns, so that nobody's
backlog makes anybody else wait. `Jobs.enqueue` and its siblings put a job into a lane with ``lane=``, and
workers serve all of them; this face is for whoever looks after them, or claims by hand.

Each method is one transition, whose contract stands at its handle in `echomq.transitions`: its name there begins with a
g where the protocol has it (`gpause`, `glimit`, …), and the protocol says group for lane.

`blocking_lanes.py` is made from this file by `tools/blocking.py`; change this one.
"""

from collections.abc import AsyncIterator

from echomq.batches import BATCH_MAX
from echomq.ids import JobId
from echomq.jobs import Runner
from echomq.keys import QueueKeys
from echomq.records import (
    AlreadyThere,
    BrowsedJob,
    Claimed,
    Drained,
    Empty,
    Gone,
    LaneInfo,
    LanePage,
    LaneSet,
    NotInLane,
    Page,
    Paused,
    Reassigned,
)
from echomq.states import SetName
from echomq.transitions.browse import browse
from echomq.transitions.depth import depth
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gdrain import gdrain
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greap_group import greap_group
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.lanes import lanes, one_lane
from echomq.transitions.waiting import waiting

__all__ = ["Lanes"]


class Lanes:
    """The lanes of one queue.

    Made by `EchoMQ.lanes`. A lane is named by text, 1 to 128 of ``A-Z a-z 0-9 . _ @ + -``; another name raises
    `InvalidName`. A lane needs no declaring: it exists while jobs of it wait or run, and its settings stay when it is
    empty. Every method can raise `ConnectionFailed` (nothing was sent), `Unknown` (sent, but the link was lost: the
    exception says whether repeating is safe) and `ServerError` (the server refused the transition as a whole).
    """

    def __init__(self, queue: str, runner: Runner) -> None:
        self._keys = QueueKeys(queue)
        self._runner = runner

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

    # --- what a lane may do -----------------------------------------------------------------------------------------

    async def weight(self, lane: str, weight: int | None) -> LaneSet:
        """Set how many jobs the lane has served in one turn, 1 to 1000; None: one, as without it (protocol 4.16.5).

        Safe to repeat.
        """
        return await self._runner.run(gweight(self._keys, lane, weight))

    async def limit(self, lane: str, most: int | None) -> LaneSet:
        """Set how many jobs of the lane may be in flight at once, 1 or more; None: any number (protocol 4.16.8).

        A lower limit ends nothing that runs: the lane is passed over until fewer do. Safe to repeat.
        """
        return await self._runner.run(glimit(self._keys, lane, most))

    async def pause(self, lane: str) -> LaneSet:
        """Park the lane: its jobs stay and are not served, those that run go on, new ones can come (protocol 4.16.6).

        A pause holds until `resume`, for jobs that come later too. It costs the server time in proportion to the number
        of lanes that wait for their turn. Safe to repeat.
        """
        return await self._runner.run(gpause(self._keys, lane))

    async def resume(self, lane: str) -> LaneSet:
        """End the lane's pause (protocol 4.16.7). Safe to repeat."""
        return await self._runner.run(gresume(self._keys, lane))

    # --- its jobs ---------------------------------------------------------------------------------------------------

    async def reassign(self, job: JobId | str, lane: str) -> Reassigned | AlreadyThere | NotInLane | Gone:
        """Move a waiting job into another lane, where it takes the place that its id's mint instant gives it.

        Only a job that waits in a lane can be moved (protocol 4.16.9): on `NotInLane` it is in flight, scheduled or
        dead, and on `Gone` there is no such job, or it has no lane at all. Safe to repeat: then `AlreadyThere`.
        """
        return await self._runner.run(greassign(self._keys, JobId.parse(job), lane))

    async def drain(self, lane: str, *, limit: int = BATCH_MAX) -> Drained:
        """Delete a slice of the lane's waiting jobs, oldest first, at most `limit` (protocol 4.16.10).

        Call again while the answer says `more`. What runs, and the lane's settings, stay.
        """
        return await self._runner.run(gdrain(self._keys, lane, limit=limit))

    async def reap(self, lane: str, *, limit: int = 100, max_attempts: int | None = None) -> int:
        """Take back those of the first `limit` lapsed jobs that are the lane's; return how many (protocol 4.16.11).

        For programs that claim by hand: a worker takes back the lapsed jobs of all lanes by itself, as does
        `Jobs.reap`. Lapsed jobs of other lanes count towards `limit` and stay.
        """
        return await self._runner.run(greap_group(self._keys, lane, limit=limit, max_attempts=max_attempts))

    # --- claiming by hand -------------------------------------------------------------------------------------------

    async def claim(self, *, lease_ms: int) -> Claimed | Empty | Paused:
        """Lease the oldest job of the lane whose turn it is, for `lease_ms` (protocol 4.16.2).

        `Claimed.lane` says which lane that was; settle the job with `Jobs.complete` and its siblings. What is
        in no lane is passed over: `Jobs.take` serves both. Not repeatable: after `Unknown`, the job that may be
        leased comes back when its lease lapses.
        """
        return await self._runner.run(gclaim(self._keys, lease_ms=lease_ms))

    async def claim_weighted(self, *, lease_ms: int) -> tuple[Claimed, ...] | Paused:
        """Lease as many jobs of the lane whose turn it is as its weight and limit allow (protocol 4.16.3).

        All are of one lane and on one deadline; none: no lane can be served. Not repeatable, like `claim`.
        """
        return await self._runner.run(gwclaim(self._keys, lease_ms=lease_ms))

    async def claim_lane(self, *, lease_ms: int, cap: int = 100) -> tuple[Claimed, ...] | Paused:
        """Lease up to `cap` jobs (1..1000) of the lane whose turn it is, whatever its weight (protocol 4.16.4).

        For work that is cheaper together, such as one message with all news of one tenant. Else as `claim_weighted`.
        """
        return await self._runner.run(gbclaim(self._keys, lease_ms=lease_ms, cap=cap))

    # --- reading ----------------------------------------------------------------------------------------------------

    async def depth(self, lane: str) -> int:
        """Return how many jobs wait in the lane (protocol 4.16.12)."""
        return await self._runner.run(depth(self._keys, lane))

    async def waiting(self) -> int:
        """Return how many jobs wait in all lanes together: those without a lane are not among them (ours).

        It asks for a thousand lanes at a time, so 100,000 of them are a hundred calls. Each lane is counted as it is
        when its slice is read. A lane of another speaker counts from when a claim has met it.
        """
        count = 0
        after: bytes | None = None
        while True:
            found = await self._runner.run(waiting(self._keys, after=after))
            count += found.count
            after = found.after
            if after is None:
                return count

    async def get(self, lane: str) -> LaneInfo:
        """Return one lane: how many jobs wait and run, and its settings. It costs no walk (ours).

        A lane that nothing is known of has neither jobs nor settings, and is told so.
        """
        return await self._runner.run(one_lane(self._keys, lane))

    async def browse(
        self, lane: str, *, limit: int = 100, newest_first: bool = True, after: BrowsedJob | None = None
    ) -> Page:
        """Return a page of the jobs that wait in the lane, newest mint first unless told otherwise (ours).

        Ask for the next with the page's `after`. What runs, is scheduled or dead stands in the queue's sets:
        `Jobs.browse`.
        """
        return await self._runner.run(
            browse(self._keys, SetName.PENDING, lane=lane, limit=limit, newest_first=newest_first, after=after)
        )

    async def list(self, *, cursor: str | None = None, limit: int = 100) -> LanePage:
        """Return a slice of the lanes, at most `limit` (1..1000). Ask for the next with the page's `cursor` (ours).

        Those with jobs that wait or run come first, by name; then those that have settings only. A slice can be empty
        though more follow.
        """
        return await self._runner.run(lanes(self._keys, cursor=cursor, limit=limit))

    async def list_all(self, *, limit: int = BATCH_MAX) -> AsyncIterator[LaneInfo]:
        """Walk all lanes, asking for `limit` (1..1000) at a time; stop whenever you have seen enough (ours).

        Each lane is told as it is when its slice is read. A lane of another speaker that is served during the walk can
        be missed or come twice.
        """
        cursor: str | None = None
        while True:
            page = await self.list(cursor=cursor, limit=limit)
            for info in page.lanes:
                yield info
            if page.cursor is None:
                return
            cursor = page.cursor
