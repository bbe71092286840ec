"""`echomq queue …`: what is in a queue, and what is done to it as a whole. Each verb returns the exit code."""

from collections.abc import Callable
from itertools import islice
from typing import Final, assert_never

from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.cli.exits import Exit
from echomq.cli.hints import ceiling, count_lanes, hint, hint_at_lanes, nothing_in
from echomq.cli.names import Asker, find_queues
from echomq.cli.render import Plain, View, none_for_people
from echomq.keys import QueueKeys
from echomq.records import ActiveJobs, Counts, MoreToObliterate, NotPaused, Obliterated
from echomq.states import COUNT_NAMES, CountName
from echomq.transitions.is_paused import is_paused

__all__ = ["concurrency", "counts", "drain", "list_queues", "obliterate", "pause", "resume"]

_SETS: Final = (CountName.PENDING, CountName.ACTIVE, CountName.SCHEDULE, CountName.DEAD)

_LANES_MAX: Final = 100_000
"""In how many lanes the jobs are counted before they are deleted."""


def list_queues(client: Asker, counts_of: Callable[[str], Counts], waiting_of: Callable[[str], int], view: View) -> int:
    """List the queues that have anything in them, with how many jobs are in each set and wait in lanes."""
    found = find_queues(client)
    rows = [
        {**_row(name, counts_of(name)), **_of_lanes(client, QueueKeys(name), waiting_of(name))} for name in found.names
    ]
    view.rows({"is_complete": found.is_complete}, "queues", rows)
    if not found.is_complete:
        view.say("echomq: the server has more keys than were looked at, so there may be more queues")
    if not found.names:
        view.say(f"echomq: no queue on {client.server} has anything in it")
    return Exit.DONE


def _row(queue: str, found: Counts) -> dict[str, Plain]:
    return {"queue": queue, **{str(name): found[name] for name in COUNT_NAMES}}


def counts(jobs: BlockingJobs, lanes: BlockingLanes, client: Asker, view: View) -> int:
    """Show how many jobs are in each set, how many completed and failed so far, and whether the queue is paused.

    `pending` are those without a lane; `lanes` is how many lanes have jobs that wait or run.
    """
    found = jobs.counts()
    view.record(
        {
            **_row(jobs.queue, found),
            **_of_lanes(client, jobs.keys, lanes.waiting()),
            "concurrency": none_for_people(view, ceiling(client, jobs.keys)),
            "paused": client.run(is_paused(jobs.keys)),
        }
    )
    if not _has_any(jobs, client, found):
        hint(jobs.queue, client, view)
    return Exit.DONE


def pause(jobs: BlockingJobs, lanes: BlockingLanes, client: Asker, view: View) -> int:
    """Pause the queue: no job starts until it is resumed, running ones go on."""
    unknown = _unknown(jobs, client, jobs.counts())
    jobs.pause()
    view.record({"queue": jobs.queue, "paused": True, **_load(jobs, lanes, client)})
    if unknown:
        view.say(f"echomq: {unknown}")
        view.say(
            f"echomq: it is paused all the same, for jobs that may come: `echomq queue resume {jobs.queue}` ends it"
        )
    return Exit.DONE


def resume(jobs: BlockingJobs, lanes: BlockingLanes, client: Asker, view: View) -> int:
    """End a pause."""
    jobs.resume()
    view.record({"queue": jobs.queue, "paused": False, **_load(jobs, lanes, client)})
    if not _has_any(jobs, client, jobs.counts()):
        hint(jobs.queue, client, view)
    return Exit.DONE


def concurrency(jobs: BlockingJobs, client: Asker, view: View, most: int | None) -> int:
    """Set how many jobs of the queue may run at once, on all workers together, or take the ceiling away."""
    before = jobs.counts()
    unknown = _unknown(jobs, client, before)
    jobs.set_concurrency(most)
    view.record(
        {"queue": jobs.queue, "concurrency": none_for_people(view, most), "running": before["active"]},
    )
    if unknown:
        view.say(f"echomq: {unknown}")
    if unknown and most is not None:
        view.say(f"echomq: its ceiling is set all the same: `echomq queue concurrency {jobs.queue} none` takes it away")
    return Exit.DONE


def drain(jobs: BlockingJobs, client: Asker, view: View, *, scheduled: bool, yes: bool) -> int:
    """Delete the jobs that wait, and those that are scheduled if asked. Running and dead ones and the lanes stay."""
    before = jobs.counts()
    due = before["pending"] + (before["schedule"] if scheduled else 0)
    if not due:
        hint(jobs.queue, client, view)
    elif not view.may(
        f"delete {_jobs(due)} that wait{'' if due != 1 else 's'}{' or are scheduled' if scheduled else ''} in"
        f" {jobs.queue}",
        yes=yes,
    ):
        return Exit.NOT_CONFIRMED
    drained = 0
    while due:  # what is there; jobs that come faster than they are deleted are not chased for ever
        step = jobs.drain(schedule=scheduled)
        drained += step.count
        if not step.more or drained >= due:
            break
    view.record({"queue": jobs.queue, "drained": drained})
    hint_at_lanes(jobs.keys, "what waits in lanes stays", client, view)
    return Exit.DONE


def obliterate(jobs: BlockingJobs, lanes: BlockingLanes, client: Asker, view: View, *, force: bool, yes: bool) -> int:
    """Delete the queue with every job, result and counter. Pauses it first; running jobs refuse it, unless forced."""
    before = jobs.counts()
    in_lanes = sum(info.depth for info in islice(lanes.list_all(), _LANES_MAX))
    inside = sum(before[name] for name in _SETS) + in_lanes
    if not _has_any(jobs, client, before):
        hint(jobs.queue, client, view)
    if before["active"] and not force:
        view.say(
            f"echomq: {_jobs(before['active'])} of {jobs.queue} still run: wait for them (`echomq queue pause` keeps"
            " others from starting), or give --force"
        )
        return Exit.NOT_SO
    of_lanes = f" ({in_lanes:,} waiting in lanes)" if in_lanes else ""
    if not view.may(
        f"delete the queue {jobs.queue} with {_jobs(inside)}{of_lanes}, all results and all counters", yes=yes
    ):
        return Exit.NOT_CONFIRMED
    return _obliterate(jobs, view, inside, force=force)


def _obliterate(jobs: BlockingJobs, view: View, inside: int, *, force: bool) -> int:
    jobs.pause()
    cursor: str | None = None
    while True:
        match jobs.obliterate(force=force, cursor=cursor):
            case MoreToObliterate(cursor=following):
                cursor = following
            case Obliterated():
                view.record({"queue": jobs.queue, "obliterated": True, "jobs": inside})
                return Exit.DONE
            case ActiveJobs():
                view.say(
                    f"echomq: jobs of {jobs.queue} started meanwhile; the queue is paused: wait for them, or give"
                    " --force"
                )
                return Exit.NOT_SO
            case NotPaused():
                view.say(f"echomq: somebody resumed {jobs.queue} meanwhile; what was deleted stays deleted")
                return Exit.NOT_SO
            case other:
                assert_never(other)


def _jobs(count: int) -> str:
    return f"{count:,} job{'' if count == 1 else 's'}"


def _unknown(jobs: BlockingJobs, client: Asker, found: Counts) -> str | None:
    """Return the sentence that a queue has nothing; ask before a setting is made, which then stands there."""
    return None if _has_any(jobs, client, found) else nothing_in(jobs.queue, client)


def _has_any(jobs: BlockingJobs, client: Asker, found: Counts) -> bool:
    """Say whether a queue has or had jobs. Where it has, nobody needs to walk the server's keys for its name."""
    return any(found.by_name.values()) or count_lanes(client, jobs.keys) > 0


def _load(jobs: BlockingJobs, lanes: BlockingLanes, client: Asker) -> dict[str, Plain]:
    found, in_lanes = jobs.counts(), lanes.waiting()
    return {
        "waiting": found["pending"] + in_lanes,
        "running": found["active"],
        **_of_lanes(client, jobs.keys, in_lanes),
    }


def _of_lanes(client: Asker, keys: QueueKeys, waiting: int) -> dict[str, Plain]:
    return {"lanes": count_lanes(client, keys), "waiting_in_lanes": waiting}
