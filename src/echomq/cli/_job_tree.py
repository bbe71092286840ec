"""The arguments of `echomq job`."""

import sys
from typing import Annotated

import typer

from echomq.cli import job as verbs
from echomq.cli.arguments import Json, Limit, Queue, Url, Yes, end_with, examples, noun, on_queue
from echomq.cli.render import View
from echomq.codec import PAYLOAD_BYTES_MAX
from echomq.errors import BadInput

__all__ = ["job_app"]

job_app = noun("job", "One job of a queue, or some of its jobs.")

Id = Annotated[str, typer.Argument(metavar="ID", help="The job's id, JOB and 11 characters.", show_default=False)]
Fresh = Annotated[
    bool, typer.Option("--fresh", envvar="ECHOMQ_FRESH", help="Count the attempts towards the cap from zero again.")
]


@job_app.command(epilog=examples("echomq job add mail '{\"to\": 7}'", "echomq job add mail - < payload.bin"))
def add(
    queue: Queue,
    *,
    payload: Annotated[
        str, typer.Argument(metavar="PAYLOAD", help="The payload as text; - reads it from standard input.")
    ] = "",
    job: Annotated[
        str | None,
        typer.Option("--id", envvar="ECHOMQ_ID", help="An id of yours: a second time changes nothing."),
    ] = None,
    delay_ms: Annotated[
        int | None, typer.Option(min=0, envvar="ECHOMQ_DELAY_MS", help="Run it after so many milliseconds.")
    ] = None,
    lane: Annotated[
        str | None, typer.Option(envvar="ECHOMQ_LANE", help="Whose lane it waits in; without it, in none.")
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option(min=1, envvar="ECHOMQ_MAX_ATTEMPTS", help="A cap of its own.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Add a job to a queue."""
    view = View.of_terminal(is_json=json)
    on_queue(
        url,
        queue,
        lambda jobs, _client: verbs.add(
            jobs, view, _payload(payload), job=job, delay_ms=delay_ms, lane=lane, max_attempts=max_attempts
        ),
    )


@job_app.command(epilog=examples("echomq job show mail JOB0NgWefAEJfs", "echomq job show mail JOB0NgWefAEJfs --json"))
def show(queue: Queue, job: Id, *, url: Url = None, json: Json = False) -> None:
    """Show all that is stored about a job, or its kept result once it has ended."""
    view = View.of_terminal(is_json=json)
    on_queue(url, queue, lambda jobs, client: verbs.show(jobs, client, view, job))


@job_app.command(epilog=examples("echomq job state mail JOB0NgWefAEJfs", "echomq job state mail JOB0NgWefAEJfs --json"))
def state(queue: Queue, job: Id, *, url: Url = None, json: Json = False) -> None:
    """Show where a job is, in one word."""
    view = View.of_terminal(is_json=json)
    on_queue(url, queue, lambda jobs, client: verbs.state(jobs, client, view, job))


@job_app.command(
    epilog=examples("echomq job logs mail JOB0NgWefAEJfs", "echomq job logs mail JOB0NgWefAEJfs --limit 5")
)
def logs(queue: Queue, job: Id, *, limit: Limit = 100, url: Url = None, json: Json = False) -> None:
    """Show a job's last log lines, oldest first."""
    view = View.of_terminal(is_json=json)
    on_queue(url, queue, lambda jobs, client: verbs.logs(jobs, client, view, job, limit=limit))


@job_app.command(
    "list", epilog=examples("echomq job list mail --lane acme", "echomq job list mail dead --limit 1000 --json")
)
def list_(
    queue: Queue,
    *,
    in_state: Annotated[
        str, typer.Argument(metavar="STATE", help="pending, active, scheduled or dead.", envvar="ECHOMQ_STATE")
    ] = "pending",
    lane: Annotated[
        str | None, typer.Option(envvar="ECHOMQ_LANE", help="Those that wait in this lane; pending only.")
    ] = None,
    limit: Limit = 100,
    newest_first: Annotated[
        bool | None,
        typer.Option(
            "--newest-first/--oldest-first",
            envvar="ECHOMQ_NEWEST_FIRST",
            help="In which order. Left out: pending and dead newest first, active and scheduled soonest first.",
        ),
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """List jobs of a queue that are in one state."""
    view = View.of_terminal(is_json=json)
    on_queue(
        url,
        queue,
        lambda jobs, client: verbs.list_jobs(
            jobs, client, view, in_state, limit=limit, newest_first=newest_first, lane=lane
        ),
    )


@job_app.command(
    epilog=examples("echomq job remove mail JOB0NgWefAEJfs", "echomq job remove mail JOB0NgWefAEJfs --yes")
)
def remove(queue: Queue, job: Id, *, yes: Yes = False, url: Url = None, json: Json = False) -> None:
    """Delete a job from wherever it is, with its logs and its result."""
    view = View.of_terminal(is_json=json)
    on_queue(url, queue, lambda jobs, client: verbs.remove(jobs, client, view, job, yes=yes))


@job_app.command(epilog=examples("echomq job retry mail JOB0NgWefAEJfs", "echomq job retry mail --all --fresh"))
def retry(
    queue: Queue,
    *,
    job: Annotated[str | None, typer.Argument(metavar="[ID]", help="The job's id.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", envvar="ECHOMQ_ALL", help="All dead jobs of the queue.")] = False,
    fresh: Fresh = False,
    yes: Yes = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Make a dead job ready again, or all of them."""
    view = View.of_terminal(is_json=json)
    if job is not None and not every:
        on_queue(url, queue, lambda jobs, client: verbs.retry(jobs, client, view, job, fresh=fresh))
    if job is None and every:
        on_queue(url, queue, lambda jobs, _client: verbs.retry_all(jobs, view, fresh=fresh, yes=yes))
    end_with(_refuse_retry)


def _refuse_retry() -> int:
    raise BadInput("give either the ID of a job or --all")


def _payload(text: str) -> bytes:
    if text != "-":
        return text.encode("utf-8", "surrogateescape")
    # One byte over the limit is enough to be refused for its size.
    return sys.stdin.buffer.read(PAYLOAD_BYTES_MAX + 1)
