"""`echomq lane …`: the lanes of a queue. Each verb returns the exit code.

Any name may be a lane's, also before a job is in it, so settings are made for whichever is named. Where nothing is
known of it, the person is told which lane may have been meant.
"""

from itertools import islice
from typing import Final, assert_never

from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.cli.exits import Exit
from echomq.cli.hints import hint, is_known, say_unknown_lane
from echomq.cli.names import Asker
from echomq.cli.render import Plain, View, minted_at, none_for_people
from echomq.ids import JobId
from echomq.records import AlreadyThere, Gone, LaneInfo, NotInLane, Reassigned
from echomq.states import JobState

__all__ = ["drain", "limit", "list_lanes", "move", "pause", "resume", "show", "weight"]

_PAGE_MAX: Final = 1000


def list_lanes(lanes: BlockingLanes, client: Asker, view: View, *, most: int) -> int:
    """List lanes: those with jobs that wait or run, by name, then those that have settings only."""
    found = list(islice(lanes.list_all(limit=min(most + 1, _PAGE_MAX)), most + 1))
    rows = [_row(view, info) for info in found[:most]]
    view.rows({"queue": lanes.queue, "is_complete": len(found) <= most}, "lanes", rows)
    if not found:
        view.say(f"echomq: {lanes.queue} has no lanes")
        hint(lanes.queue, client, view)
    elif len(found) > most:
        view.say(f"echomq: there are more; these are {most:,} (--limit)")
    return Exit.DONE


def show(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """Show one lane: its jobs and its settings."""
    found = lanes.get(lane)
    if not is_known(found):
        say_unknown_lane(lanes.keys, lane, client, view)
        return Exit.NOT_SO
    view.record({"queue": lanes.queue, **_row(view, found)})
    return Exit.DONE


def pause(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """Park a lane: its jobs wait until it is resumed, those that run go on."""
    before = lanes.get(lane)
    lanes.pause(lane)
    return _tell(lanes, client, view, lane, {"paused": True}, before)


def resume(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """End a lane's pause."""
    before = lanes.get(lane)
    lanes.resume(lane)
    return _tell(lanes, client, view, lane, {"paused": False}, before)


def limit(lanes: BlockingLanes, client: Asker, view: View, lane: str, most: int | None) -> int:
    """Set how many jobs of a lane may run at once, or take the limit away."""
    before = lanes.get(lane)
    lanes.limit(lane, most)
    return _tell(lanes, client, view, lane, {"limit": none_for_people(view, most)}, before)


def weight(lanes: BlockingLanes, client: Asker, view: View, lane: str, share: int | None) -> int:
    """Set how many jobs of a lane are served in one turn, or take the weight away: then it is 1."""
    before = lanes.get(lane)
    lanes.weight(lane, share)
    return _tell(lanes, client, view, lane, {"weight": 1 if share is None else share}, before)


def move(jobs: BlockingJobs, lanes: BlockingLanes, view: View, job: str, lane: str) -> int:
    """Move a waiting job into another lane."""
    jid = JobId.parse(job)
    answer = lanes.reassign(jid, lane)
    match answer:
        case Reassigned() | AlreadyThere():
            moved = isinstance(answer, Reassigned)
            view.record({"queue": jobs.queue, "job": str(jid), "lane": answer.lane, "moved": moved})
            return Exit.DONE
        case NotInLane():
            view.say(f"echomq: job {jid} is {jobs.get_state(jid)}: only a job that waits in a lane can be moved")
            return Exit.NOT_SO
        case Gone():
            is_there = jobs.get_state(jid) is not JobState.ABSENT
            view.say(
                f"echomq: job {jid} is in no lane: only a job that was added with one can be moved"
                if is_there
                else f"echomq: {jobs.queue} has no job {jid}"
            )
            return Exit.NOT_SO
        case _:
            assert_never(answer)


def drain(lanes: BlockingLanes, client: Asker, view: View, lane: str, *, yes: bool) -> int:
    """Delete the jobs that wait in a lane. Those that run stay, and so do its settings."""
    due = lanes.depth(lane)
    if not due:
        if not is_known(lanes.get(lane)):
            say_unknown_lane(lanes.keys, lane, client, view)
    elif not view.may(f"delete {_jobs_that_wait(due)} in lane {lane} of {lanes.queue}", yes=yes):
        return Exit.NOT_CONFIRMED
    drained = 0
    while due:  # what is there; jobs that come faster than they are deleted are not chased for ever
        step = lanes.drain(lane)
        drained += step.count
        if not step.more or drained >= due:
            break
    view.record({"queue": lanes.queue, "lane": lane, "drained": drained})
    return Exit.DONE


def _row(view: View, info: LaneInfo) -> dict[str, Plain]:
    return {
        "lane": info.lane,
        "waiting": info.depth,
        "running": info.in_flight,
        "limit": none_for_people(view, info.limit),
        "weight": info.weight,
        "paused": info.paused,
        "oldest": None if info.oldest is None else str(info.oldest),
        "oldest_minted_at": minted_at(info.oldest),
    }


def _tell(
    lanes: BlockingLanes, client: Asker, view: View, lane: str, setting: dict[str, Plain], before: LaneInfo
) -> int:
    view.record({"queue": lanes.queue, "lane": lane, **setting, "waiting": lanes.depth(lane)})
    if not is_known(before):
        say_unknown_lane(lanes.keys, lane, client, view)
    return Exit.DONE


def _jobs_that_wait(count: int) -> str:
    return f"{count:,} job that waits" if count == 1 else f"{count:,} jobs that wait"
