"""The arguments of `echomq queue`."""

from typing import Annotated

import typer

from echomq.cli import queue as verbs
from echomq.cli.arguments import (
    Json,
    NumberOrNone,
    Queue,
    Url,
    Yes,
    examples,
    noun,
    number_or_none,
    on_app,
    on_both,
    on_queue,
)
from echomq.cli.render import View

__all__ = ["queue_app"]

queue_app = noun("queue", "What is in a queue, and what is done to it as a whole.")


@queue_app.command("list", epilog=examples("echomq queue list", "echomq queue list --json"))
def list_(*, url: Url = None, json: Json = False) -> None:
    """List the queues that have anything in them. Walks the server's keys: not for a loop."""
    view = View.of_terminal(is_json=json)
    on_app(
        url,
        lambda app, client: verbs.list_queues(
            client,
            lambda name: app.blocking_jobs(name).counts(),
            lambda name: app.blocking_lanes(name).waiting(),
            view,
        ),
    )


@queue_app.command(epilog=examples("echomq queue counts mail", "echomq queue counts mail --json | jq .pending"))
def counts(queue: Queue, *, url: Url = None, json: Json = False) -> None:
    """Show how many jobs are in each set, and how many completed and failed so far."""
    view = View.of_terminal(is_json=json)
    on_both(url, queue, lambda jobs, lanes, client: verbs.counts(jobs, lanes, client, view))


@queue_app.command(epilog=examples("echomq queue pause mail", "echomq queue pause mail --url valkey://10.0.0.5"))
def pause(queue: Queue, *, url: Url = None, json: Json = False) -> None:
    """Pause a queue: no job starts until it is resumed, and those that run go on."""
    view = View.of_terminal(is_json=json)
    on_both(url, queue, lambda jobs, lanes, client: verbs.pause(jobs, lanes, client, view))


@queue_app.command(epilog=examples("echomq queue resume mail", "echomq queue resume mail --json"))
def resume(queue: Queue, *, url: Url = None, json: Json = False) -> None:
    """End a pause."""
    view = View.of_terminal(is_json=json)
    on_both(url, queue, lambda jobs, lanes, client: verbs.resume(jobs, lanes, client, view))


@queue_app.command(epilog=examples("echomq queue concurrency mail 50", "echomq queue concurrency mail none"))
def concurrency(queue: Queue, most: NumberOrNone, *, url: Url = None, json: Json = False) -> None:
    """Set how many jobs of a queue may run at once, on all workers together; none takes the ceiling away."""
    view = View.of_terminal(is_json=json)
    on_queue(
        url,
        queue,
        lambda jobs, client: verbs.concurrency(jobs, client, view, number_or_none("concurrency", most)),
    )


@queue_app.command(epilog=examples("echomq queue drain mail", "echomq queue drain mail --scheduled --yes"))
def drain(
    queue: Queue,
    *,
    scheduled: Annotated[
        bool, typer.Option("--scheduled", envvar="ECHOMQ_SCHEDULED", help="Delete the scheduled jobs too.")
    ] = False,
    yes: Yes = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Delete the jobs that wait in no lane. Running and dead ones stay, and so do those in lanes."""
    view = View.of_terminal(is_json=json)
    on_queue(url, queue, lambda jobs, client: verbs.drain(jobs, client, view, scheduled=scheduled, yes=yes))


@queue_app.command(epilog=examples("echomq queue obliterate mail", "echomq queue obliterate mail --force --yes"))
def obliterate(
    queue: Queue,
    *,
    force: Annotated[
        bool, typer.Option("--force", envvar="ECHOMQ_FORCE", help="Even while jobs run; their results are lost.")
    ] = False,
    yes: Yes = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """Delete a queue with every job, result and counter. It is paused first."""
    view = View.of_terminal(is_json=json)
    on_both(
        url,
        queue,
        lambda jobs, lanes, client: verbs.obliterate(jobs, lanes, client, view, force=force, yes=yes),
    )
