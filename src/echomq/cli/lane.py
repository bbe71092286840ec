"""`echomq lane …`: the lanes of a queue. Each verb returns the exit code.

Any name may be a lane's, also before a job is in it, so settings are made for whichever is named. Where nothing is
known of it, the person is told which lane may have been meant.
"""

from itertools import islice
from typing import Final, assert_never

from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.cli.exits import Exit
from echomq.cli.hints import hint
from echomq.cli.names import Asker, near
from echomq.cli.render import Plain, View, minted_at, none_for_people
from echomq.ids import JobId
from echomq.records import AlreadyThere, Gone, LaneInfo, NotInLane, Reassigned
from echomq.states import JobState

__all__ = ["drain", "limit", "list_lanes", "move", "pause", "resume", "show", "weight"]

LOOKED_AT_MAX: Final = 100_000
"""Among how many lanes one is looked for by its name."""

_COMPARED_MAX: Final = 10_000
"""Among how many names a near one is looked for: comparing costs far more than reading."""

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
    lanes.keys.lane(lane)  # a name that cannot be is refused as such
    found = next((info for info in islice(lanes.list_all(), LOOKED_AT_MAX) if info.lane == lane), None)
    if found is None:
        _say_unknown(lanes, client, view, lane)
        return Exit.NOT_SO
    view.record({"queue": lanes.queue, **_row(view, found)})
    return Exit.DONE


def pause(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """Park a lane: its jobs wait until it is resumed, those that run go on."""
    is_known = _is_known(lanes, lane)
    lanes.pause(lane)
    return _tell(lanes, client, view, lane, {"paused": True}, is_known=is_known)


def resume(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """End a lane's pause."""
    is_known = _is_known(lanes, lane)
    lanes.resume(lane)
    return _tell(lanes, client, view, lane, {"paused": False}, is_known=is_known)


def limit(lanes: BlockingLanes, client: Asker, view: View, lane: str, most: int | None) -> int:
    """Set how many jobs of a lane may run at once, or take the limit away."""
    is_known = _is_known(lanes, lane)
    lanes.limit(lane, most)
    return _tell(lanes, client, view, lane, {"limit": none_for_people(view, most)}, is_known=is_known)


def weight(lanes: BlockingLanes, client: Asker, view: View, lane: str, share: int | None) -> int:
    """Set how many jobs of a lane are served in one turn, or take the weight away: then it is 1."""
    is_known = _is_known(lanes, lane)
    lanes.weight(lane, share)
    return _tell(lanes, client, view, lane, {"weight": 1 if share is None else share}, is_known=is_known)


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
        if not _is_known(lanes, lane):
            _say_unknown(lanes, client, view, lane)
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
    lanes: BlockingLanes, client: Asker, view: View, lane: str, setting: dict[str, Plain], *, is_known: bool
) -> int:
    view.record({"queue": lanes.queue, "lane": lane, **setting, "waiting": lanes.depth(lane)})
    if not is_known:
        _say_unknown(lanes, client, view, lane)
    return Exit.DONE


def _is_known(lanes: BlockingLanes, lane: str) -> bool:
    """Say whether jobs of the lane wait or run, or a setting of it is made. Walks the lanes only if none waits."""
    return lanes.depth(lane) > 0 or any(info.lane == lane for info in islice(lanes.list_all(), LOOKED_AT_MAX))


def _say_unknown(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> None:
    names = [info.lane for info in islice(lanes.list_all(), _COMPARED_MAX)]
    guess = near(lane, names)
    view.say(
        f"echomq: no job of {lanes.queue} waits or runs in lane {lane}" + (f"; did you mean {guess}?" if guess else "")
    )
    if not names:
        hint(lanes.queue, client, view)


def _jobs_that_wait(count: int) -> str:
    return f"{count:,} job that waits" if count == 1 else f"{count:,} jobs that wait"
