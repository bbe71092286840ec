"""One call of every handle, with each reply that its body can give and the answer that the handle makes of it."""

from dataclasses import dataclass

from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import (
    Absent,
    ActiveJobs,
    AlreadyThere,
    Awaited,
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
    LaneInfo,
    LanePage,
    LaneSet,
    Locked,
    Logged,
    Logs,
    Metrics,
    MoreToObliterate,
    NewJob,
    NodeLeased,
    NodeNotHeld,
    NodeReturned,
    NodesTaken,
    NotDead,
    NotExtended,
    NotInLane,
    NotPaused,
    NotScheduled,
    Obliterated,
    Page,
    Paused,
    Promoted,
    PromotedMany,
    Purged,
    Reaped,
    Reassigned,
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
    WaitingJobs,
)
from echomq.resp.reply import ErrorReply, Reply
from echomq.states import CountName, JobState, SetName
from echomq.transitions.add_log import add_log
from echomq.transitions.browse import browse
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.complete import complete
from echomq.transitions.complete_many import complete_many
from echomq.transitions.counts import counts
from echomq.transitions.delay import delay
from echomq.transitions.depth import depth
from echomq.transitions.drain import drain
from echomq.transitions.enqueue import enqueue
from echomq.transitions.enqueue_many import enqueue_many
from echomq.transitions.extend import extend
from echomq.transitions.extend_many import extend_many
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gdrain import gdrain
from echomq.transitions.genqueue import genqueue
from echomq.transitions.get_job import get_job
from echomq.transitions.get_result import get_result
from echomq.transitions.get_state import get_state
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greap_group import greap_group
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.is_paused import is_paused
from echomq.transitions.lanes import lanes, one_lane
from echomq.transitions.lease_node import lease_node
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
from echomq.transitions.return_node import return_node
from echomq.transitions.schedule import enqueue_at, enqueue_in
from echomq.transitions.set_concurrency import set_concurrency
from echomq.transitions.take import take, take_blocking
from echomq.transitions.update_data import update_data
from echomq.transitions.update_progress import update_progress
from echomq.transitions.waiting import waiting
from echomq.transitions.wake import wake

__all__ = ["KEYS", "ROWS", "J", "K", "Row", "T"]

KEYS = QueueKeys("mail")
J = JobId.parse("JOB0JZGkP8smrw")
K = JobId.parse("JOB0JZGkP8smrx")
T = Token(3)
STALE = ErrorReply("EMQSTALE the token is not the current one")
JOB_GONE = ErrorReply("EMQSTALE job gone")


@dataclass(frozen=True, slots=True)
class Row:
    """A call, what is sent for it, and its replies with their answers."""

    call: Call[object]
    keys: tuple[bytes, ...]
    args: tuple[object, ...]
    answers: tuple[tuple[Reply, object], ...]

    def __str__(self) -> str:
        return self.call.transition.name


def key(name: str) -> bytes:
    return b"emq:{mail}:" + name.encode()


def row(call: Call[object], keys: str, args: tuple[object, ...], *answers: tuple[Reply, object]) -> Row:
    """`keys` are suffixes of the queue's base; `.` stands for the base itself, `$` for the job's row."""
    full = tuple(key(word.replace("$", f"job:{J}").removeprefix(".")) for word in keys.split())
    return Row(call, full, args, answers)


BASE = key("")
STORED = [
    b"state",
    b"odd",
    b"attempts",
    b"2",
    b"payload",
    b"\xff",
    b"died_at",
    b"7",
    b"last_error",
    b"\xff",
    b"lock",
    b"x",
]

ROWS: tuple[Row, ...] = (
    row(
        add_log(KEYS, J, b"l"),
        "$ $:logs",
        (b"l", 1000),
        (5, Logged(J, 5)),
        (-1, Gone(J)),
        (STALE, Stale(J)),
    ),
    row(add_log(KEYS, J, b"l", keep=None, token=T), "$ $:logs", (b"l", b"", 3)),
    row(
        browse(KEYS, SetName.ACTIVE, limit=2),
        "active",
        (2, b"", b"", b""),
        ([], Page(SetName.ACTIVE, (), None)),
        ([[J, b"7"]], Page(SetName.ACTIVE, (BrowsedJob(J, 7),), None)),
        (
            [[J, b"7"], [K, b"9007199254740991"]],
            Page(SetName.ACTIVE, (BrowsedJob(J, 7), BrowsedJob(K, 2**53 - 1)), BrowsedJob(K, 2**53 - 1)),
        ),
    ),
    row(
        browse(KEYS, SetName.DEAD, after=BrowsedJob(J, None)),
        "dead",
        (100, b"1", 0, J),
        ([[J, b"0"]], Page(SetName.DEAD, (BrowsedJob(J, None),), None)),
    ),
    row(browse(KEYS, SetName.SCHEDULE, newest_first=True, after=BrowsedJob(J, 8)), "schedule", (100, b"1", 8, J)),
    row(browse(KEYS, SetName.PENDING, newest_first=False), "pending", (100, b"", b"", b"")),
    row(
        browse(KEYS, SetName.PENDING, lane="red", limit=1),
        "g:red:pending",
        (1, b"1", b"", b""),
        ([[J, b"0"]], Page(SetName.PENDING, (BrowsedJob(J, None),), BrowsedJob(J, None))),
    ),
    row(
        claim(KEYS, lease_ms=5),
        "pending active .",
        (5,),
        ([], Empty()),
        ([J, b"p", 3], Claimed(J, b"p", T)),
        ([J, None, 3], Claimed(J, None, T)),
    ),
    row(
        claim_many(KEYS, lease_ms=5, size=2),
        "pending active meta dead .",
        (5, 2),
        ([b"paused"], Paused()),
        ([b"empty", 4, [K], []], ClaimedMany((), 4, (K,))),
        ([b"claimed", 0, [], [[J, b"p", 3]]], ClaimedMany((Claimed(J, b"p", T),), 0)),
        ([b"claimed", 0, [], [[J, None, b"3"]]], ClaimedMany((Claimed(J, None, T),), 0)),
    ),
    row(
        complete(KEYS, J, T),
        "active $",
        (J, 3, BASE),
        (1, Completed(J)),
        (0, Gone(J)),
        (STALE, Stale(J)),
    ),
    row(complete(KEYS, J, T, result=b"r", result_ttl_ms=9), "active $", (J, 3, BASE, 9, b"r")),
    row(complete(KEYS, J, T, result=b"r"), "active $", (J, 3, BASE, b"", b"r")),
    row(complete(KEYS, J, T, result_ttl_ms=9), "active $", (J, 3, BASE, 9, b"")),
    row(
        complete_many(KEYS, [Completion(J, T), Completion(K, T, b"r", 9)]),
        "active .",
        (J, 3, b"", b"", K, 3, 9, b"r"),
        ([b"completed", b"gone"], (Completed(J), Gone(K))),
        ([b"stale", b"broken"], (Stale(J), Broken(K))),
    ),
    row(
        counts(KEYS, ["failed", "dead", CountName.PENDING]),
        ". dead pending",
        (b"failed",),
        ([1, 2, 3], Counts({CountName.DEAD: 1, CountName.PENDING: 2, CountName.FAILED: 3})),
    ),
    row(counts(KEYS), ". pending active schedule dead", (b"completed", b"failed")),
    row(
        delay(KEYS, J, T, delay_ms=8),
        "$ active schedule",
        (J, 3, b"in", 8),
        (1, Delayed(J)),
        (JOB_GONE, Gone(J)),
        (STALE, Stale(J)),
    ),
    row(delay(KEYS, J, T, at_ms=8, unspent=True), "$ active schedule", (J, 3, b"at", 8, b"1")),
    row(drain(KEYS, limit=2), ". pending", (2,), (1, Drained(1, more=False)), (2, Drained(2, more=True))),
    row(drain(KEYS, schedule=True), ". pending schedule", (1000,)),
    row(enqueue(KEYS, J, b"p"), "$ pending wake", (J, b"p"), (1, Enqueued(J)), (0, Duplicate(J))),
    row(enqueue(KEYS, J, b"p", max_attempts=4), "$ pending wake", (J, b"p", 4)),
    row(
        enqueue_many(KEYS, [NewJob(J, b"p"), NewJob(K, b"q", 4, "red")]),
        "pending .",
        (J, b"p", b"", b"", K, b"q", 4, b"red"),
        ([1, 0], (Enqueued(J), Duplicate(K))),
    ),
    row(extend(KEYS, J, T, lease_ms=5), "active $", (J, 3, 5), (1, Extended(J)), (-1, Gone(J)), (STALE, Stale(J))),
    row(
        extend_many(KEYS, [(J, T), (K, Token(4))], lease_ms=5),
        "active",
        (BASE, 5, J, 3, K, 4),
        ([], NotExtended(())),
        ([K], NotExtended((K,))),
    ),
    row(depth(KEYS, "red"), "g:red:pending", (), (7, 7)),
    row(
        gclaim(KEYS, lease_ms=5),
        "ring active meta",
        (BASE, 5),
        ([b"paused"], Paused()),
        ([], Empty()),
        ([J, b"p", 3, b"red"], Claimed(J, b"p", T, "red")),
        ([J, None, 3, b"red"], Claimed(J, None, T, "red")),
    ),
    row(
        gwclaim(KEYS, lease_ms=5),
        "ring active meta",
        (BASE, 5),
        ([b"paused"], Paused()),
        ([], ()),
        (
            [[J, b"p", 3, b"red"], [K, None, 3, b"red"]],
            (Claimed(J, b"p", T, "red"), Claimed(K, None, T, "red")),
        ),
    ),
    row(
        gbclaim(KEYS, lease_ms=5),
        "ring active meta",
        (BASE, 5, 100),
        ([b"paused"], Paused()),
        ([], ()),
        ([[J, b"p", 3, b"red"]], (Claimed(J, b"p", T, "red"),)),
    ),
    row(gbclaim(KEYS, lease_ms=5, cap=7), "ring active meta", (BASE, 5, 7)),
    row(
        gdrain(KEYS, "red", limit=2),
        ". g:red:pending ring",
        (b"red", 2),
        (1, Drained(1, more=False)),
        (2, Drained(2, more=True)),
    ),
    row(gdrain(KEYS, "red"), ". g:red:pending ring", (b"red", 1000)),
    row(
        genqueue(KEYS, J, b"p", lane="red"),
        "$ g:red:pending ring paused glimit gactive wake lanes",
        (J, b"p", b"red"),
        (1, Enqueued(J)),
        (0, Duplicate(J)),
    ),
    row(
        genqueue(KEYS, J, b"p", lane="red", max_attempts=4),
        "$ g:red:pending ring paused glimit gactive wake lanes",
        (J, b"p", b"red", 4),
    ),
    row(glimit(KEYS, "red", 4), "glimit gactive ring paused wake", (BASE, b"red", 4), (1, LaneSet("red"))),
    row(glimit(KEYS, "red", None), "glimit gactive ring paused wake", (BASE, b"red", b"")),
    row(gpause(KEYS, "red"), "paused ring", (b"red",), (1, LaneSet("red"))),
    row(gresume(KEYS, "red"), "paused ring glimit gactive wake", (BASE, b"red"), (1, LaneSet("red"))),
    row(greap_group(KEYS, "red"), "active .", (b"red", 100), (0, 0), (7, 7)),
    row(greap_group(KEYS, "red", limit=5, max_attempts=3), "active .", (b"red", 5, 3)),
    row(
        greassign(KEYS, J, "red"),
        "$ g:red:pending ring paused glimit gactive wake",
        (J, b"red", BASE),
        (1, Reassigned(J, "red")),
        (0, AlreadyThere(J, "red")),
        (-1, Gone(J)),
        (-2, NotInLane(J)),
    ),
    row(gweight(KEYS, "red", 4), "gweight", (b"red", 4), (1, LaneSet("red"))),
    row(gweight(KEYS, "red", None), "gweight", (b"red", b"")),
    row(
        lanes(KEYS),
        ".",
        (b"", 100),
        ([b"lanes", b"", []], LanePage((), None)),
        (
            [b"lanes", b"lanes red", [[b"red", 7, 2, 9, 3, 1, J], [b"x", 0, 0, b"", b"", 0, b""]]],
            LanePage(
                (
                    LaneInfo(lane="red", depth=7, in_flight=2, limit=9, weight=3, paused=True, oldest=J),
                    LaneInfo(lane="x", depth=0, in_flight=0, limit=None, weight=1, paused=False, oldest=None),
                ),
                "lanes red",
            ),
        ),
    ),
    row(lanes(KEYS, cursor="lanes red", limit=5), ".", (b"lanes red", 5)),
    row(
        one_lane(KEYS, "red"),
        ".",
        (b"", b"", b"red"),
        (
            [b"lanes", b"", [[b"red", 7, 2, 9, 3, 1, J]]],
            LaneInfo(lane="red", depth=7, in_flight=2, limit=9, weight=3, paused=True, oldest=J),
        ),
        (
            [b"lanes", b"", []],
            LaneInfo(lane="red", depth=0, in_flight=0, limit=None, weight=1, paused=False, oldest=None),
        ),
    ),
    row(
        waiting(KEYS),
        ".",
        (b"", 1000),
        ([b"waiting", 0, b""], WaitingJobs(0, None)),
        ([b"waiting", 7, b"\xff"], WaitingJobs(7, b"\xff")),
    ),
    row(waiting(KEYS, after=b"red", limit=5), ".", (b"red", 5)),
    row(set_concurrency(KEYS, 4), "meta .", (4,), (1, ConcurrencySet(4))),
    row(set_concurrency(KEYS, None), "meta .", (b"",), (1, ConcurrencySet(None))),
    row(
        take(KEYS, lease_ms=5, size=2),
        "ring pending active meta wake dead .",
        (5, 2, b"", b"", 1000),
        ([b"paused"], Paused()),
        (
            [b"taken", 1, 0, 0, [], [[J, b"p", 3, b"red"], [K, None, 3, b""]]],
            Taken((Claimed(J, b"p", T, "red"), Claimed(K, None, T)), more=True, full=False, due=False, wait_ms=0),
        ),
        ([b"empty", 0, 1, 0, [K], []], Taken((), more=False, full=False, due=True, wait_ms=0, broken=(K,))),
        ([b"full", 0, 0, 7, [], []], Taken((), more=False, full=True, due=False, wait_ms=7)),
    ),
    row(
        take(KEYS, lease_ms=5, size=2, worth=b"9", watcher="me", park_ms=77),
        "ring pending active meta wake dead .",
        (5, 2, b"9", b"me", 77),
    ),
    row(
        take_blocking(KEYS, lease_ms=5, size=2, watcher="me", park_ms=77, block_ms=9),
        "ring pending active meta wake dead .",
        (5, 2, b"", b"me", 77, b"BLOCK", 9),
        ([b"paused", 3], Awaited(Paused(), 3)),
        ([b"paused", -1], Awaited(Paused(), 0, may_wait=False)),
        ([b"empty", 0, 0, 0, [], [], 12], Awaited(None, 12)),
        (ErrorReply("UNBLOCKED by an operator"), Awaited(None, 0)),
        (
            [b"taken", 0, 0, 7, [], [[J, b"p", 3, b""]], 0],
            Awaited(Taken((Claimed(J, b"p", T),), more=False, full=False, due=False, wait_ms=7), 0),
        ),
        (
            [b"empty", 0, 0, 7, [], [], -1],
            Awaited(Taken((), more=False, full=False, due=False, wait_ms=7), 0, may_wait=False),
        ),
    ),
    row(wake(KEYS, worth=9, watcher="me"), "wake ring pending .", (9, b"me"), (1, True), (0, False)),
    row(wake(KEYS, worth=9), "wake ring pending .", (9, b"")),
    row(
        get_job(KEYS, J),
        "$",
        (),
        ([], Absent(J)),
        ([b"lock", b"x"], Absent(J)),
        (
            STORED,
            StoredJob(
                job=J,
                state=JobState.UNKNOWN,
                attempts=2,
                payload=b"\xff",
                last_error="\ufffd",
                died_at_ms=7,
                extra={b"lock": b"x"},
            ),
        ),
    ),
    row(
        get_result(KEYS, J),
        "$ $:result",
        (),
        ([b"completed", b"r", b"3", b"99"], Finished(J, b"r", 3, 99)),
        ([b"dead", b"why", b"3"], Failed(J, "why", 3)),
        ([b"waiting", b"active", b"3"], Waiting(J, JobState.ACTIVE, 3)),
        ([b"waiting", b"odd", b"3"], Waiting(J, JobState.UNKNOWN, 3)),
        ([b"gone"], Gone(J)),
    ),
    row(
        get_state(KEYS, J),
        "pending active schedule dead $",
        (J,),
        *[(state.encode(), state) for state in JobState],
    ),
    row(is_paused(KEYS), "meta", (), (None, False), (b"1", True), (b"", True)),
    Row(
        lease_node(b"me", node=None, mark_ms=5, lease_ms=6),
        (b"{emq}:nodes", b"{emq}:node_owners"),
        (b"me", b"", 5, 6, 0),
        (
            ([b"leased", b"7", b"0", b"5"], NodeLeased(7, 0, 5)),
            ([b"exhausted", b"12"], NodesTaken(12)),
        ),
    ),
    Row(
        lease_node(b"me", node=0, mark_ms=5, lease_ms=6, wish=9),
        (b"{emq}:nodes", b"{emq}:node_owners"),
        (b"me", 0, 5, 6, 9),
        (),
    ),
    row(
        logs(KEYS, J, start=4, count=2),
        "$ $:logs",
        (4, 2),
        ([b"logs", 9, [b"a", b"b"]], Logs((b"a", b"b"), 9)),
        ([b"gone"], Gone(J)),
    ),
    row(metrics(KEYS, CountName.FAILED), "metrics:failed metrics:failed:data", (), ([4, 0], Metrics(4, 0))),
    row(metrics(KEYS, CountName.COMPLETED), "metrics:completed metrics:completed:data", ()),
    row(
        obliterate(KEYS),
        "meta .",
        (b"", 1000),
        (0, Obliterated()),
        (b"17", MoreToObliterate("17")),
        (ErrorReply("EMQSTATE not paused"), NotPaused()),
        (ErrorReply("EMQSTATE active jobs present"), ActiveJobs()),
    ),
    row(obliterate(KEYS, force=True, budget=5, cursor="17"), "meta .", (b"force", 5, b"17")),
    row(pause(KEYS), "meta", (), (1, Paused())),
    row(
        promote(KEYS, limit=2),
        "schedule pending",
        (BASE, 2),
        (0, PromotedMany(0, more=False)),
        (2, PromotedMany(2, more=True)),
    ),
    row(
        promote_now(KEYS, J),
        "$ schedule .",
        (J,),
        ([b"promoted"], Promoted(J)),
        ([b"not_scheduled"], NotScheduled(J)),
        ([b"gone"], Gone(J)),
    ),
    row(
        purge(KEYS, age_ms=9),
        "dead .",
        (9, 100, b""),
        ([b"purged", 2, b""], Purged(2, None)),
        ([b"purged", 2, K], Purged(2, K)),
    ),
    row(purge(KEYS, age_ms=9, limit=3, after=J), "dead .", (9, 3, J)),
    row(
        reap(KEYS, limit=3),
        "active pending",
        (BASE, 3, b"", b"ids"),
        ([b"reaped", 0, [], [], []], Reaped((), (), (), more=False)),
        ([b"reaped", 3, [J], [K], [b"JOBghost"]], Reaped((J,), (K,), (JobId.of_server(b"JOBghost"),), more=True)),
    ),
    row(reap(KEYS, max_attempts=4), "active pending", (BASE, 100, 4, b"ids")),
    row(
        release(KEYS, J, T),
        "active $ .",
        (J, 3),
        ([b"released"], Released(J)),
        ([b"stale"], Stale(J)),
        ([b"gone"], Gone(J)),
    ),
    row(
        remove(KEYS, J),
        "$ pending active schedule dead de:",
        (J, b""),
        (1, Removed(J)),
        (-1, Gone(J)),
        (ErrorReply("EMQLOCK a worker holds it"), Locked(J)),
    ),
    row(remove(KEYS, J, dedup_id="d"), "$ pending active schedule dead de:d", (J, b"d")),
    row(
        repair(KEYS),
        ".",
        (b"0", 1000),
        ([b"repaired", b"0", [J]], Repaired((J,), None)),
        ([b"repaired", b"17", []], Repaired((), "17")),
    ),
    row(repair(KEYS, cursor="17", budget=5), ".", (b"17", 5)),
    row(
        reprocess(KEYS, J),
        "$ dead pending",
        (J,),
        (1, Reprocessed(J)),
        (-1, Gone(J)),
        (ErrorReply("EMQSTATE it is not dead"), NotDead(J)),
    ),
    row(reprocess(KEYS, J, fresh=True), "$ dead pending", (J, b"1")),
    row(
        reprocess_many(KEYS),
        "dead .",
        (100, b"", b""),
        ([b"reprocessed", 2, b""], ReprocessedMany(2, None)),
        ([b"reprocessed", 2, K], ReprocessedMany(2, K)),
    ),
    row(reprocess_many(KEYS, limit=3, after=J, fresh=True), "dead .", (3, J, b"1")),
    row(
        reschedule(KEYS, J, at_ms=8),
        "$ schedule wake",
        (J, b"at", 8),
        ([b"scheduled", b"9007199254740991"], Rescheduled(J, 2**53 - 1)),
        ([b"not_scheduled"], NotScheduled(J)),
        ([b"gone"], Gone(J)),
    ),
    row(resume(KEYS), "meta .", (), (1, Resumed())),
    row(
        retry(KEYS, J, T, delay_ms=8, max_attempts=5, error="why"),
        "active schedule dead $",
        (J, 3, 8, 5, b"why", BASE),
        (b"scheduled", Scheduled(J)),
        (b"dead", Dead(J)),
        (STALE, Stale(J)),
        (JOB_GONE, Stale(J)),
    ),
    Row(
        return_node(b"me", 7, last_ms=5),
        (b"{emq}:nodes", b"{emq}:node_owners"),
        (b"me", 7, 5),
        (([b"returned"], NodeReturned()), ([b"not_held"], NodeNotHeld())),
    ),
    row(
        enqueue_in(KEYS, J, b"p", delay_ms=8),
        "$ schedule wake",
        (J, b"p", b"in", 8),
        (1, Scheduled(J)),
        (0, Duplicate(J)),
    ),
    row(enqueue_at(KEYS, J, b"p", at_ms=8, max_attempts=4), "$ schedule wake", (J, b"p", b"at", 8, 4)),
    row(enqueue_at(KEYS, J, b"p", at_ms=8, lane="red"), "$ schedule wake", (J, b"p", b"at", 8, b"", b"red")),
    row(
        enqueue_in(KEYS, J, b"p", delay_ms=8, lane="red", max_attempts=4),
        "$ schedule wake",
        (J, b"p", b"in", 8, 4, b"red"),
    ),
    row(update_data(KEYS, J, b"p"), "$", (b"p",), (1, Updated(J)), (-1, Gone(J)), (STALE, Stale(J))),
    row(update_data(KEYS, J, b"p", token=T), "$", (b"p", 3)),
    row(
        update_progress(KEYS, J, b"50"),
        "$",
        (b"50", J, BASE),
        (1, Updated(J)),
        (-1, Gone(J)),
        (STALE, Stale(J)),
    ),
    row(update_progress(KEYS, J, b"50", token=T), "$", (b"50", J, BASE, 3)),
)
