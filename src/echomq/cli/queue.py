"""`echomq queue …`: what is in a queue, and what is done to it as a whole. Each verb returns the exit code."""

from collections.abc import Callable
from typing import Final, assert_never

from echomq.blocking_jobs import BlockingJobs
from echomq.cli.exits import Exit
from echomq.cli.hints import hint
from echomq.cli.names import Asker, find_queues
from echomq.cli.render import Plain, View
from echomq.records import ActiveJobs, Counts, MoreToObliterate, NotPaused, Obliterated
from echomq.states import COUNT_NAMES, CountName
from echomq.transitions.is_paused import is_paused

__all__ = ["counts", "drain", "list_queues", "obliterate", "pause", "resume"]

_SETS: Final = (CountName.PENDING, CountName.ACTIVE, CountName.SCHEDULE, CountName.DEAD)


def list_queues(client: Asker, counts_of: Callable[[str], Counts], view: View) -> int:
    """List the queues that have anything in them, with how many jobs are in each set."""
    found = find_queues(client)
    rows = [_row(name, counts_of(name)) for name in found.names]
    view.rows({"is_complete": found.is_complete}, "queues", rows)
    if not found.is_complete:
        view.say("echomq: the server has more keys than were looked at, so there may be more queues")
    if not found.names:
        view.say("echomq: no queue has anything in it")
    return Exit.DONE


def _row(queue: str, found: Counts) -> dict[str, Plain]:
    return {"queue": queue, **{str(name): found[name] for name in COUNT_NAMES}}


def counts(jobs: BlockingJobs, client: Asker, view: View) -> int:
    """Show how many jobs are in each set, how many completed and failed so far, and whether the queue is paused."""
    found = jobs.counts()
    view.record({**_row(jobs.queue, found), "paused": client.run(is_paused(jobs.keys))})
    if not any(found[name] for name in COUNT_NAMES):
        hint(jobs.queue, client, view)
    return Exit.DONE


def pause(jobs: BlockingJobs, client: Asker, view: View) -> int:
    """Pause the queue: no job starts until it is resumed, running ones go on."""
    before = jobs.counts()
    jobs.pause()
    view.record({"queue": jobs.queue, "paused": True, "waiting": before["pending"], "running": before["active"]})
    if not any(before[name] for name in COUNT_NAMES):
        hint(jobs.queue, client, view)
    return Exit.DONE


def resume(jobs: BlockingJobs, client: Asker, view: View) -> int:
    """End a pause."""
    jobs.resume()
    found = jobs.counts()
    view.record({"queue": jobs.queue, "paused": False, "waiting": found["pending"], "running": found["active"]})
    if not any(found[name] for name in COUNT_NAMES):
        hint(jobs.queue, client, view)
    return Exit.DONE


def drain(jobs: BlockingJobs, client: Asker, view: View, *, scheduled: bool, yes: bool) -> int:
    """Delete the jobs that wait, and those that are scheduled if asked. Running, dead and grouped ones stay."""
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
    return Exit.DONE


def obliterate(jobs: BlockingJobs, client: Asker, view: View, *, force: bool, yes: bool) -> int:
    """Delete the queue with every job, result and counter. Pauses it first; running jobs refuse it, unless forced."""
    before = jobs.counts()
    inside = sum(before[name] for name in _SETS)
    if not any(before[name] for name in COUNT_NAMES):
        hint(jobs.queue, client, view)
    if before["active"] and not force:
        view.say(
            f"echomq: {_jobs(before['active'])} of {jobs.queue} still run: wait for them (`echomq queue pause` keeps"
            " others from starting), or give --force"
        )
        return Exit.NOT_SO
    if not view.may(f"delete the queue {jobs.queue} with {_jobs(inside)}, all results and all counters", yes=yes):
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
