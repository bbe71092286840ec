"""`echomq job …`: one job, or some of a queue's jobs. Each verb returns the exit code."""

from collections.abc import Mapping
from typing import Final, assert_never

from echomq.blocking_jobs import BlockingJobs
from echomq.cli.exits import Exit
from echomq.cli.hints import hint, hint_at_lanes, is_known, say_unknown_lane
from echomq.cli.names import Asker, set_of
from echomq.cli.places import instant_of, lane_of
from echomq.cli.render import Plain, View, as_json_bytes, instant, minted_at
from echomq.ids import JobId
from echomq.records import (
    Absent,
    BrowsedJob,
    Duplicate,
    Enqueued,
    Failed,
    Finished,
    Gone,
    Locked,
    Logs,
    NotDead,
    Removed,
    Reprocessed,
    Scheduled,
    StoredJob,
    Waiting,
)
from echomq.states import JobState, SetName
from echomq.transitions.lanes import one_lane

__all__ = ["add", "list_jobs", "logs", "remove", "retry", "retry_all", "show", "state"]

_PAGE_MAX: Final = 1000


def add(
    jobs: BlockingJobs,
    view: View,
    payload: bytes,
    *,
    job: str | None = None,
    delay_ms: int | None = None,
    lane: str | None = None,
    max_attempts: int | None = None,
) -> int:
    """Add a job, in a lane or in none: ready at once, or after a delay. With an id of yours twice is once."""
    jid = jobs.mint() if job is None else JobId.parse(job)
    answer: Enqueued | Scheduled | Duplicate
    if delay_ms is None:
        answer = jobs.enqueue(payload, job=jid, lane=lane, max_attempts=max_attempts)
    else:
        answer = jobs.enqueue_in(payload, job=jid, delay_ms=delay_ms, lane=lane, max_attempts=max_attempts)
    match answer:
        case Enqueued():
            word = "enqueued"
        case Scheduled():
            word = "scheduled"
        case Duplicate():
            word = "duplicate"
        case _:
            assert_never(answer)
    view.record({"queue": jobs.queue, "job": str(jid), "answer": word})
    return Exit.DONE


def show(jobs: BlockingJobs, client: Asker, view: View, job: str) -> int:
    """Show all that is stored about a job: its row, or its kept result once it has ended."""
    jid = JobId.parse(job)
    row = jobs.get_job(jid)
    match row:
        case StoredJob():
            where = jobs.get_state(jid)
            view.record({**_head(jobs, jid, where), **instant_of(client, jobs.keys, jid, where), **_row(row)})
            return Exit.DONE
        case Absent():
            return _show_ending(jobs, client, view, jid)
        case _:
            assert_never(row)


def state(jobs: BlockingJobs, client: Asker, view: View, job: str) -> int:
    """Show where a job is: one word."""
    jid = JobId.parse(job)
    word = str(jobs.get_state(jid))
    if word == JobState.ABSENT and isinstance(jobs.get_result(jid), Finished):
        word = "completed"
    if view.is_json:
        view.record({"queue": jobs.queue, "job": str(jid), "state": word})
    else:
        view.lines({}, "", [word])
    return Exit.NOT_SO if word == JobState.ABSENT else Exit.DONE


def logs(jobs: BlockingJobs, client: Asker, view: View, job: str, *, limit: int) -> int:
    """Show a job's last log lines, oldest first."""
    jid = JobId.parse(job)
    answer = jobs.logs(jid, count=1)
    match answer:
        case Logs(total=total):
            found = jobs.logs(jid, start=max(total - limit, 0), count=min(limit, _PAGE_MAX))
            lines = found.lines if isinstance(found, Logs) else ()
            text = [line.decode("utf-8", "backslashreplace") for line in lines]
            view.lines({"queue": jobs.queue, "job": str(jid), "total": total}, "lines", text)
            return Exit.DONE
        case Gone():
            return _no_such(jobs, client, view, jid)
        case _:
            assert_never(answer)


def list_jobs(
    jobs: BlockingJobs,
    client: Asker,
    view: View,
    word: str,
    *,
    limit: int,
    newest_first: bool | None,
    lane: str | None = None,
) -> int:
    """List jobs of one set: pending and dead newest first, active and schedule soonest first, unless told otherwise.

    With a lane: those that wait in it, which goes with pending alone. In the other sets each job is told with its lane,
    which is a question for each, so that no payload travels.
    """
    name = set_of(word)
    found: list[BrowsedJob] = []
    after: BrowsedJob | None = None
    while len(found) < limit:
        most = min(limit - len(found), _PAGE_MAX)
        page = jobs.browse(name, lane=lane, limit=most, newest_first=newest_first, after=after)
        found += page.jobs
        after = page.after
        if after is None:
            break
    rows = [_browsed(jobs, client, name, job) for job in found]
    of_lane: dict[str, Plain] = {} if lane is None else {"lane": lane}
    view.rows({"queue": jobs.queue, "state": str(name), **of_lane, "is_complete": after is None}, "jobs", rows)
    if not found and lane is not None:
        if is_known(client.run(one_lane(jobs.keys, lane))):
            view.say(f"echomq: no job of {jobs.queue} waits in lane {lane}")
        else:
            say_unknown_lane(jobs.keys, lane, client, view)
    elif not found:
        view.say(f"echomq: no job of {jobs.queue} is in {name}")
        hint(jobs.queue, client, view)
    elif after is not None:
        view.say(f"echomq: there are more; these are {len(found):,} (--limit)")
    if name is SetName.PENDING and lane is None:
        hint_at_lanes(jobs.keys, "jobs that wait in lanes are not listed here", client, view)
    return Exit.DONE


def remove(jobs: BlockingJobs, client: Asker, view: View, job: str, *, yes: bool) -> int:
    """Delete a job from wherever it is, with its logs and result. A worker that runs it is told by its next call."""
    jid = JobId.parse(job)
    where = jobs.get_state(jid)
    if where is JobState.ABSENT and isinstance(jobs.get_result(jid), Gone):
        return _no_such(jobs, client, view, jid)
    if not view.may(f"delete job {jid} of {jobs.queue}, which is {where}", yes=yes):
        return Exit.NOT_CONFIRMED
    answer = jobs.remove(jid)
    match answer:
        case Removed():
            view.record({"queue": jobs.queue, "job": str(jid), "removed": True})
            return Exit.DONE
        case Gone():
            return _no_such(jobs, client, view, jid)
        case Locked():
            view.say(f"echomq: a worker holds the lock of job {jid}, so it stays: try again when that has expired")
            return Exit.NOT_SO
        case _:
            assert_never(answer)


def retry(jobs: BlockingJobs, client: Asker, view: View, job: str, *, fresh: bool) -> int:
    """Make a dead job ready again."""
    jid = JobId.parse(job)
    answer = jobs.reprocess(jid, fresh=fresh)
    match answer:
        case Reprocessed():
            view.record({"queue": jobs.queue, "job": str(jid), "ready": True})
            return Exit.DONE
        case NotDead():
            view.say(f"echomq: job {jid} is {jobs.get_state(jid)} and not dead, so there is nothing to retry")
            return Exit.NOT_SO
        case Gone():
            return _no_such(jobs, client, view, jid)
        case _:
            assert_never(answer)


def retry_all(jobs: BlockingJobs, view: View, *, fresh: bool, yes: bool) -> int:
    """Make all dead jobs ready again, oldest first."""
    dead = jobs.counts(["dead"])["dead"]
    if dead and not view.may(f"run {dead:,} dead job{'' if dead == 1 else 's'} of {jobs.queue} again", yes=yes):
        return Exit.NOT_CONFIRMED
    count = 0
    after: JobId | None = None
    while dead:
        step = jobs.reprocess_many(limit=_PAGE_MAX, after=after, fresh=fresh)
        count += step.count
        after = step.after
        if after is None:
            break
    view.record({"queue": jobs.queue, "ready": count})
    return Exit.DONE


def _head(jobs: BlockingJobs, job: JobId, where: str) -> dict[str, Plain]:
    return {"queue": jobs.queue, "job": str(job), "state": str(where), "minted_at": minted_at(job)}


def _row(row: StoredJob) -> Mapping[str, Plain]:
    return {
        "attempts": row.attempts,
        "max_attempts": row.max_attempts,
        "unspent": row.unspent or None,
        "lane": row.lane,
        "last_error": row.last_error,
        "died_at": instant(row.died_at_ms),
        **as_json_bytes("progress", row.progress),
        **as_json_bytes("payload", row.payload),
    }


def _show_ending(jobs: BlockingJobs, client: Asker, view: View, job: JobId) -> int:
    ending = jobs.get_result(job)
    match ending:
        case Finished():
            view.record(
                {
                    **_head(jobs, job, "completed"),
                    "attempts": ending.attempts,
                    "completed_at": instant(ending.completed_at_ms),
                    **as_json_bytes("result", ending.result),
                }
            )
            return Exit.DONE
        case Gone() | Failed() | Waiting():  # the latter two came and went between two questions
            return _no_such(jobs, client, view, job)
        case _:
            assert_never(ending)


def _browsed(jobs: BlockingJobs, client: Asker, name: SetName, job: BrowsedJob) -> dict[str, Plain]:
    row: dict[str, Plain] = {"job": str(job.job), "minted_at": minted_at(job.job)}
    if name is SetName.SCHEDULE:
        row["due_at"] = instant(job.at_ms)
    if name is SetName.ACTIVE:
        row["lease_ends_at"] = instant(job.at_ms)
    if name is not SetName.PENDING:
        row["lane"] = lane_of(client, jobs.keys, job.job)
    return row


def _no_such(jobs: BlockingJobs, client: Asker, view: View, job: JobId) -> int:
    view.say(f"echomq: {jobs.queue} has no job {job}, and no kept result of it, on {client.server}")
    return Exit.NOT_SO
