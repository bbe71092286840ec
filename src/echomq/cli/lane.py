"""`echomq lane …`: the lanes of a queue. Each verb returns the exit code.

Any name may be a lane's, also before a job is in it, so settings are made for whichever is named. Where nothing is
known of it, the person is told which lane may have been meant.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Final, assert_never

from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.cli.exits import Exit
from echomq.cli.hints import count_lanes, hint, hint_at_queue, is_known, say_unknown_lane, unknown_lane
from echomq.cli.names import Asker
from echomq.cli.render import Plain, View, minted_at, none_for_people
from echomq.ids import JobId
from echomq.records import AlreadyThere, Gone, LaneInfo, NotInLane, Reassigned
from echomq.states import JobState

__all__ = ["Sort", "drain", "limit", "list_lanes", "move", "pause", "resume", "show", "weight"]

READ_MAX: Final = 100_000
"""How many lanes are read to sort them or to choose among them."""

_PAGE_MAX: Final = 1000


class Sort(StrEnum):
    """In which order lanes are listed."""

    NAME = "name"
    DEPTH = "depth"
    AGE = "age"


def list_lanes(
    lanes: BlockingLanes,
    client: Asker,
    view: View,
    *,
    most: int,
    sort: Sort = Sort.NAME,
    paused: bool = False,
    limited: bool = False,
) -> int:
    """List lanes: those with jobs that wait or run, by name, then those that have settings only.

    By depth, those where most jobs wait come first, by age those whose oldest job waits longest. `paused` and `limited`
    leave out all that are not. To sort and to choose, the first `READ_MAX` lanes are read.
    """
    chooses = paused or limited
    bound = READ_MAX if chooses or sort is not Sort.NAME else most
    read = list(islice(lanes.list_all(limit=min(bound + 1, _PAGE_MAX)), bound + 1))
    is_all = len(read) <= bound
    found = sorted(
        (info for info in read[:bound] if (info.paused or not paused) and (info.limit is not None or not limited)),
        key=_KEYS[sort],
    )
    is_complete = is_all and len(found) <= most
    view.rows({"queue": lanes.queue, "is_complete": is_complete}, "lanes", [_row(view, info) for info in found[:most]])
    if not read:
        view.say(f"echomq: {lanes.queue} has no lanes on {client.server}")
        hint(lanes.queue, client, view)
        return Exit.DONE
    if not found:
        chosen = " and ".join(word for word, asked in (("paused", paused), ("limited", limited)) if asked)
        view.say(f"echomq: no lane of {lanes.queue} is {chosen}")
    if len(found) > most or (not is_all and bound == most):
        view.say(f"echomq: there are more; these are {most:,} (--limit)")
    elif not is_all:
        view.say(f"echomq: only the first {bound:,} lanes were read")
    view.say(f"echomq: {_total(lanes, client, read if is_all else None)}")
    return Exit.DONE


def _age(info: LaneInfo) -> tuple[bool, bytes]:
    """Ids are in the order of their minting; where nothing waits, nothing is old."""
    return info.oldest is None, b"" if info.oldest is None else bytes(info.oldest)


_KEYS: Final[Mapping[Sort, Callable[[LaneInfo], tuple[object, ...]]]] = {
    Sort.NAME: lambda _info: (),  # as they are read
    Sort.DEPTH: lambda info: (-info.depth,),
    Sort.AGE: _age,
}


def _total(lanes: BlockingLanes, client: Asker, read: Sequence[LaneInfo] | None) -> str:
    """Return how many lanes have jobs and how many wait in them, in all: from what was read if that is everything."""
    if read is None:
        live, waiting = count_lanes(client, lanes.keys), lanes.waiting()
    else:
        live, waiting = sum(bool(info.depth or info.in_flight) for info in read), sum(info.depth for info in read)
    have, wait = ("lane has" if live == 1 else "lanes have"), ("job waits" if waiting == 1 else "jobs wait")
    return f"in all {live:,} {have} jobs, and {waiting:,} {wait} in lanes"


def show(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """Show one lane: its jobs and its settings."""
    found = lanes.get(lane)
    if not is_known(found):
        say_unknown_lane(lanes.keys, lane, client, view)
        return Exit.NOT_SO
    view.record({"queue": lanes.queue, **_row(view, found)})
    hint_at_queue(lanes.keys, client, view)
    return Exit.DONE


def pause(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """Park a lane: its jobs wait until it is resumed, those that run go on."""
    unknown = _unknown(lanes, client, lane)
    lanes.pause(lane)
    _tell(lanes, view, lane, {"paused": True})
    _warn(lanes, view, lane, unknown, "is paused now", "resume", "")
    return Exit.DONE


def resume(lanes: BlockingLanes, client: Asker, view: View, lane: str) -> int:
    """End a lane's pause."""
    unknown = _unknown(lanes, client, lane)
    lanes.resume(lane)
    _tell(lanes, view, lane, {"paused": False})
    _warn(lanes, view, lane, unknown)
    return Exit.DONE


def limit(lanes: BlockingLanes, client: Asker, view: View, lane: str, most: int | None) -> int:
    """Set how many jobs of a lane may run at once, or take the limit away."""
    unknown = _unknown(lanes, client, lane)
    lanes.limit(lane, most)
    _tell(lanes, view, lane, {"limit": none_for_people(view, most)})
    done = "" if most is None else f"has the limit {most:,} now"
    _warn(lanes, view, lane, unknown, done, "limit", " none")
    return Exit.DONE


def weight(lanes: BlockingLanes, client: Asker, view: View, lane: str, share: int | None) -> int:
    """Set how many jobs of a lane are served in one turn, or take the weight away: then it is 1."""
    unknown = _unknown(lanes, client, lane)
    lanes.weight(lane, share)
    _tell(lanes, view, lane, {"weight": 1 if share is None else share})
    done = "" if share is None else f"has the weight {share:,} now"
    _warn(lanes, view, lane, unknown, done, "weight", " none")
    return Exit.DONE


def move(jobs: BlockingJobs, lanes: BlockingLanes, client: Asker, view: View, job: str, lane: str) -> int:
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
                else f"echomq: {jobs.queue} has no job {jid} on {client.server}"
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


def _unknown(lanes: BlockingLanes, client: Asker, lane: str) -> tuple[str, ...]:
    """Return what a person must be told before a setting makes the lane, and maybe the queue, a known one."""
    return () if is_known(lanes.get(lane)) else unknown_lane(lanes.keys, lane, client)


def _tell(lanes: BlockingLanes, view: View, lane: str, setting: dict[str, Plain]) -> None:
    view.record({"queue": lanes.queue, "lane": lane, **setting, "waiting": lanes.depth(lane)})


def _warn(
    lanes: BlockingLanes, view: View, lane: str, unknown: Sequence[str], done: str = "", verb: str = "", rest: str = ""
) -> None:
    """Say that a lane was not known, what was `done` all the same, and the command that undoes it; "": nothing was."""
    if unknown and done:
        view.say(
            f"echomq: lane {lane} of {lanes.queue} {done}, though nothing is known of it; to undo that:"
            f" echomq lane {verb} {lanes.queue} {lane}{rest}"
        )
    elif unknown:
        view.say(f"echomq: nothing was set for lane {lane} of {lanes.queue}, so nothing changed")
    for sentence in unknown:
        view.say(f"echomq: {sentence}")


def _jobs_that_wait(count: int) -> str:
    return f"{count:,} job that waits" if count == 1 else f"{count:,} jobs that wait"
