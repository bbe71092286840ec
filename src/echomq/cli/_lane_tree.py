"""The arguments of `echomq lane`."""

from typing import Annotated

import typer

from echomq.cli import lane as verbs
from echomq.cli.arguments import (
    Json,
    Limit,
    NumberOrNone,
    Queue,
    Url,
    Yes,
    examples,
    noun,
    number_or_none,
    on_both,
    on_lanes,
)
from echomq.cli.render import View

__all__ = ["lane_app"]

lane_app = noun("lane", "The lanes of a queue: one per tenant, served in turns.")

Lane = Annotated[str, typer.Argument(metavar="LANE", help="The lane's name.", show_default=False)]


@lane_app.command(
    "list", epilog=examples("echomq lane list mail --sort depth", "echomq lane list mail --paused --json")
)
def list_(
    queue: Queue,
    *,
    limit: Limit = 100,
    sort: Annotated[
        verbs.Sort,
        typer.Option(
            envvar="ECHOMQ_SORT", help="depth: where most jobs wait first; age: where one waits longest first."
        ),
    ] = verbs.Sort.NAME,
    paused: Annotated[bool, typer.Option("--paused", envvar="ECHOMQ_PAUSED", help="Only paused lanes.")] = False,
    limited: Annotated[
        bool, typer.Option("--limited", envvar="ECHOMQ_LIMITED", help="Only lanes that have a limit.")
    ] = False,
    url: Url = None,
    json: Json = False,
) -> None:
    """List the lanes that have jobs or settings: what waits, what runs, and what was set."""
    view = View.of_terminal(is_json=json)
    on_lanes(
        url,
        queue,
        lambda lanes, client: verbs.list_lanes(
            lanes, client, view, most=limit, sort=sort, paused=paused, limited=limited
        ),
    )


@lane_app.command(epilog=examples("echomq lane show mail acme", "echomq lane show mail acme --json | jq .waiting"))
def show(queue: Queue, lane: Lane, *, url: Url = None, json: Json = False) -> None:
    """Show one lane: what waits, what runs, and what was set."""
    view = View.of_terminal(is_json=json)
    on_lanes(url, queue, lambda lanes, client: verbs.show(lanes, client, view, lane))


@lane_app.command(epilog=examples("echomq lane pause mail acme", "echomq lane pause mail acme --json"))
def pause(queue: Queue, lane: Lane, *, url: Url = None, json: Json = False) -> None:
    """Pause a lane: none of its jobs starts until it is resumed, and those that run go on."""
    view = View.of_terminal(is_json=json)
    on_lanes(url, queue, lambda lanes, client: verbs.pause(lanes, client, view, lane))


@lane_app.command(epilog=examples("echomq lane resume mail acme", "echomq lane resume mail acme --json"))
def resume(queue: Queue, lane: Lane, *, url: Url = None, json: Json = False) -> None:
    """End a lane's pause."""
    view = View.of_terminal(is_json=json)
    on_lanes(url, queue, lambda lanes, client: verbs.resume(lanes, client, view, lane))


@lane_app.command(epilog=examples("echomq lane limit mail acme 5", "echomq lane limit mail acme none"))
def limit(queue: Queue, lane: Lane, most: NumberOrNone, *, url: Url = None, json: Json = False) -> None:
    """Set how many jobs of a lane may run at once; none takes the limit away."""
    view = View.of_terminal(is_json=json)
    on_lanes(url, queue, lambda lanes, client: verbs.limit(lanes, client, view, lane, number_or_none("limit", most)))


@lane_app.command(epilog=examples("echomq lane weight mail acme 3", "echomq lane weight mail acme none"))
def weight(queue: Queue, lane: Lane, share: NumberOrNone, *, url: Url = None, json: Json = False) -> None:
    """Set how many jobs of a lane are served in one turn; none takes the weight away: then it is 1."""
    view = View.of_terminal(is_json=json)
    on_lanes(url, queue, lambda lanes, client: verbs.weight(lanes, client, view, lane, number_or_none("weight", share)))


@lane_app.command(
    epilog=examples("echomq lane move mail JOB0NgWefAEJfs acme", "echomq lane move mail JOB0NgWefAEJfs acme --json")
)
def move(
    queue: Queue,
    job: Annotated[str, typer.Argument(metavar="ID", help="The job's id, JOB and 11 characters.", show_default=False)],
    lane: Lane,
    *,
    url: Url = None,
    json: Json = False,
) -> None:
    """Move a job that waits in a lane into another one."""
    view = View.of_terminal(is_json=json)
    on_both(url, queue, lambda jobs, lanes, client: verbs.move(jobs, lanes, client, view, job, lane))


@lane_app.command(epilog=examples("echomq lane drain mail acme", "echomq lane drain mail acme --yes"))
def drain(queue: Queue, lane: Lane, *, yes: Yes = False, url: Url = None, json: Json = False) -> None:
    """Delete the jobs that wait in a lane. Those that run stay, and so do its settings."""
    view = View.of_terminal(is_json=json)
    on_lanes(url, queue, lambda lanes, client: verbs.drain(lanes, client, view, lane, yes=yes))
