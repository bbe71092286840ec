"""The lanes of one queue: the lane verbs for plain blocking code.

A lane is the set of waiting jobs of one group: of one tenant, as a rule. They are served in turns, so that nobody's
backlog makes anybody else wait. `BlockingJobs.enqueue` and its siblings put a job into a lane with ``lane=``, and
workers serve all of them; this face is for whoever looks after them, or claims by hand.

Each method is one transition, whose contract stands at its handle in `echomq.transitions`: its name there begins with a
g where the protocol has it (`gpause`, `glimit`, …), and the protocol says group for lane.

Made from `lanes.py` by `tools/blocking.py`; change that one.
"""

from collections.abc import Iterator

from echomq.batches import BATCH_MAX
from echomq.blocking_jobs import BlockingRunner
from echomq.ids import JobId
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

__all__ = ["BlockingLanes"]


class BlockingLanes:
    """The lanes of one queue.

    Made by `EchoMQ.blocking_lanes`. A lane is named by text, 1 to 128 of ``A-Z a-z 0-9 . _ @ + -``; another name raises
    `InvalidName`. A lane needs no declaring: it exists while jobs of it wait or run, and its settings stay when it is
    empty. Every method can raise `ConnectionFailed` (nothing was sent), `Unknown` (sent, but the link was lost: the
    exception says whether repeating is safe) and `ServerError` (the server refused the transition as a whole).
    """

    def __init__(self, queue: str, runner: BlockingRunner) -> None:
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

    def weight(self, lane: str, weight: int | None) -> LaneSet:
        """Set how many jobs the lane has served in one turn, 1 to 1000; None: one, as without it (protocol 4.16.5).

        Safe to repeat.
        """
        return self._runner.run(gweight(self._keys, lane, weight))

    def limit(self, lane: str, most: int | None) -> LaneSet:
        """Set how many jobs of the lane may be in flight at once, 1 or more; None: any number (protocol 4.16.8).

        A lower limit ends nothing that runs: the lane is passed over until fewer do. Safe to repeat.
        """
        return self._runner.run(glimit(self._keys, lane, most))

    def pause(self, lane: str) -> LaneSet:
        """Park the lane: its jobs stay and are not served, those that run go on, new ones can come (protocol 4.16.6).

        A pause holds until `resume`, for jobs that come later too. It costs the server time in proportion to the number
        of lanes that wait for their turn. Safe to repeat.
        """
        return self._runner.run(gpause(self._keys, lane))

    def resume(self, lane: str) -> LaneSet:
        """End the lane's pause (protocol 4.16.7). Safe to repeat."""
        return self._runner.run(gresume(self._keys, lane))

    # --- its jobs ---------------------------------------------------------------------------------------------------

    def reassign(self, job: JobId | str, lane: str) -> Reassigned | AlreadyThere | NotInLane | Gone:
        """Move a waiting job into another lane, where it takes the place that its id's mint instant gives it.

        Only a job that waits in a lane can be moved (protocol 4.16.9): on `NotInLane` it is in flight, scheduled or
        dead, and on `Gone` there is no such job, or it has no lane at all. Safe to repeat: then `AlreadyThere`.
        """
        return self._runner.run(greassign(self._keys, JobId.parse(job), lane))

    def drain(self, lane: str, *, limit: int = BATCH_MAX) -> Drained:
        """Delete a slice of the lane's waiting jobs, oldest first, at most `limit` (protocol 4.16.10).

        Call again while the answer says `more`. What runs, and the lane's settings, stay.
        """
        return self._runner.run(gdrain(self._keys, lane, limit=limit))

    def reap(self, lane: str, *, limit: int = 100, max_attempts: int | None = None) -> int:
        """Take back those of the first `limit` lapsed jobs that are the lane's; return how many (protocol 4.16.11).

        For programs that claim by hand: a worker takes back the lapsed jobs of all lanes by itself, as does
        `BlockingJobs.reap`. Lapsed jobs of other lanes count towards `limit` and stay.
        """
        return self._runner.run(greap_group(self._keys, lane, limit=limit, max_attempts=max_attempts))

    # --- claiming by hand -------------------------------------------------------------------------------------------

    def claim(self, *, lease_ms: int) -> Claimed | Empty | Paused:
        """Lease the oldest job of the lane whose turn it is, for `lease_ms` (protocol 4.16.2).

        `Claimed.lane` says which lane that was; settle the job with `BlockingJobs.complete` and its siblings. What is
        in no lane is passed over: `BlockingJobs.take` serves both. Not repeatable: after `Unknown`, the job that may be
        leased comes back when its lease lapses.
        """
        return self._runner.run(gclaim(self._keys, lease_ms=lease_ms))

    def claim_weighted(self, *, lease_ms: int) -> tuple[Claimed, ...] | Paused:
        """Lease as many jobs of the lane whose turn it is as its weight and limit allow (protocol 4.16.3).

        All are of one lane and on one deadline; none: no lane can be served. Not repeatable, like `claim`.
        """
        return self._runner.run(gwclaim(self._keys, lease_ms=lease_ms))

    def claim_lane(self, *, lease_ms: int, cap: int = 100) -> tuple[Claimed, ...] | Paused:
        """Lease up to `cap` jobs (1..1000) of the lane whose turn it is, whatever its weight (protocol 4.16.4).

        For work that is cheaper together, such as one message with all news of one tenant. Else as `claim_weighted`.
        """
        return self._runner.run(gbclaim(self._keys, lease_ms=lease_ms, cap=cap))

    # --- reading ----------------------------------------------------------------------------------------------------

    def depth(self, lane: str) -> int:
        """Return how many jobs wait in the lane (protocol 4.16.12)."""
        return self._runner.run(depth(self._keys, lane))

    def waiting(self) -> int:
        """Return how many jobs wait in all lanes together: those without a lane are not among them (ours).

        It asks for a thousand lanes at a time, so 100,000 of them are a hundred calls. Each lane is counted as it is
        when its slice is read. A lane of another speaker counts from when a claim has met it.
        """
        count = 0
        after: bytes | None = None
        while True:
            found = self._runner.run(waiting(self._keys, after=after))
            count += found.count
            after = found.after
            if after is None:
                return count

    def get(self, lane: str) -> LaneInfo:
        """Return one lane: how many jobs wait and run, and its settings. It costs no walk (ours).

        A lane that nothing is known of has neither jobs nor settings, and is told so.
        """
        return self._runner.run(one_lane(self._keys, lane))

    def browse(
        self, lane: str, *, limit: int = 100, newest_first: bool = True, after: BrowsedJob | None = None
    ) -> Page:
        """Return a page of the jobs that wait in the lane, newest mint first unless told otherwise (ours).

        Ask for the next with the page's `after`. What runs, is scheduled or dead stands in the queue's sets:
        `BlockingJobs.browse`.
        """
        return self._runner.run(
            browse(self._keys, SetName.PENDING, lane=lane, limit=limit, newest_first=newest_first, after=after)
        )

    def list(self, *, cursor: str | None = None, limit: int = 100) -> LanePage:
        """Return a slice of the lanes, at most `limit` (1..1000). Ask for the next with the page's `cursor` (ours).

        Those with jobs that wait or run come first, by name; then those that have settings only. A slice can be empty
        though more follow.
        """
        return self._runner.run(lanes(self._keys, cursor=cursor, limit=limit))

    def list_all(self, *, limit: int = BATCH_MAX) -> Iterator[LaneInfo]:
        """Walk all lanes, asking for `limit` (1..1000) at a time; stop whenever you have seen enough (ours).

        Each lane is told as it is when its slice is read. A lane of another speaker that is served during the walk can
        be missed or come twice.
        """
        cursor: str | None = None
        while True:
            page = self.list(cursor=cursor, limit=limit)
            yield from page.lanes
            if page.cursor is None:
                return
            cursor = page.cursor
