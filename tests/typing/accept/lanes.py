"""Both faces of the lanes, with every answer handled, and a lane wherever a job is admitted."""

from typing import assert_never

from echomq import (
    AlreadyThere,
    BlockingLanes,
    Claimed,
    ConcurrencySet,
    EchoMQ,
    Empty,
    Gone,
    JobId,
    LaneInfo,
    LaneSet,
    NewJob,
    NotInLane,
    Page,
    Paused,
    Reassigned,
    Taken,
)


async def serve(app: EchoMQ) -> list[str | None]:
    mail = app.jobs("mail")
    await mail.enqueue(b"1", lane="acme")
    await mail.enqueue_at(b"2", at_ms=0, lane="acme")
    await mail.enqueue_in(b"3", delay_ms=10, lane=None)
    await mail.enqueue_many([b"4", NewJob(await mail.mint(), b"5", lane="zoo")], lane="acme")
    ceiling: ConcurrencySet = await mail.set_concurrency(None)
    most: int | None = ceiling.most
    left: bool = await mail.wake(worth=1, watcher=None)
    match await mail.take(lease_ms=1000, size=10, worth=b"beat", watcher="w", park_ms=500):
        case Taken(jobs=jobs, more=True):
            return [job.lane for job in jobs]
        case Taken() | Paused():
            return [str(most), str(left)]
        case never:
            assert_never(never)


async def move(app: EchoMQ, job: JobId) -> str | None:
    match await app.lanes("mail").reassign(job, "zoo"):
        case Reassigned(_, lane) | AlreadyThere(_, lane):
            return lane
        case NotInLane() | Gone():
            return None
        case never:
            assert_never(never)


async def look(app: EchoMQ) -> int:
    waiting = 0
    async for info in app.lanes("mail").list_all():
        waiting += info.depth
    return waiting


def plain(app: EchoMQ) -> list[LaneInfo]:
    lanes: BlockingLanes = app.blocking_lanes("mail")
    done: LaneSet = lanes.weight("acme", 3)
    lanes.limit(done.lane, None)
    match lanes.claim(lease_ms=1000):
        case Claimed(lane=lane):
            print(lane)
        case Empty() | Paused():
            pass
        case never:
            assert_never(never)
    batch = lanes.claim_lane(lease_ms=1000, cap=10)
    if not isinstance(batch, Paused):
        print([job.token for job in batch])
    page = lanes.list(cursor=None, limit=10)
    waiting: Page = lanes.browse("acme", limit=10, newest_first=False, after=None)
    more: Page = app.blocking_jobs("mail").browse("pending", lane="acme", after=waiting.after)
    print(len(more.jobs))
    return [*page.lanes, *lanes.list_all(), lanes.get("acme")]
