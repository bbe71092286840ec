"""The tree of commands and their arguments. What a command does stands in the file of its noun."""

import os
from pathlib import Path
from typing import Annotated

import typer

from echomq.cli._job_tree import job_app
from echomq.cli._lane_tree import lane_app
from echomq.cli._queue_tree import queue_app
from echomq.cli.arguments import Json, Url, end_with, examples, noun
from echomq.cli.demo import demo as play_demo
from echomq.cli.doctor import QUEUE
from echomq.cli.doctor import doctor as look_at
from echomq.cli.module import show_path
from echomq.cli.render import View
from echomq.cli.server import serve
from echomq.cli.version import show_version, show_version_line
from echomq.demo.files import LIMIT
from echomq.demo.play import DemoOptions
from echomq.embedded import default_home
from echomq.server_address import ServerAddress

__all__ = ["app"]

app = typer.Typer(
    name="echomq",
    help="A job queue for Python on Valkey: look at its queues and jobs, run its server, see its demo.",
    epilog=examples("echomq demo", "echomq queue counts mail"),
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version_line(asked: bool) -> None:  # noqa: FBT001 - typer gives it so
    if asked:
        end_with(lambda: show_version_line(View.of_terminal(is_json=False)))


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version_line, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Take what stands before the command."""


app.add_typer(queue_app)
app.add_typer(job_app)
app.add_typer(lane_app)

module_app = noun("module", "The server's module: the same steps as commands, several times cheaper.")
app.add_typer(module_app)


@module_app.command(
    epilog=examples("echomq module path | xargs valkey-server --loadmodule", "echomq module path --json | jq -r .path")
)
def path(*, json: Json = False) -> None:
    """Show where the module of this installation is."""
    view = View.of_terminal(is_json=json)
    end_with(lambda: show_path(view))


@module_app.callback()
def about_module() -> None:
    """Take what stands between the noun and its verb, so that one verb alone is a verb."""


@app.command(epilog=examples("echomq doctor", "echomq doctor --url valkey://10.0.0.5 --json | jq .problems"))
def doctor(
    *,
    queue: Annotated[
        str,
        typer.Option(
            envvar="ECHOMQ_QUEUE", metavar="QUEUE", help="Whose keys the user's rights are asked about; any will do."
        ),
    ] = QUEUE,
    url: Url = None,
    json: Json = False,
) -> None:
    """Look at a server and say in sentences how it is, and what to do.

    Whether it can be reached, which server it is, whether the module is in use and how it is loaded, which rights are
    missing, and which settings lose jobs. Nothing is changed. The exit status is 1 if there is a problem.
    """
    view = View.of_terminal(is_json=json)
    end_with(lambda: look_at(url, os.environ, queue, view))


@app.command(epilog=examples("echomq demo", "echomq demo ~/photos --limit 5000 --json"))
def demo(
    *,
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="Whose files to read; Python's own library if left out.", show_default=False
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, envvar="ECHOMQ_LIMIT", help="How many files at most.")] = LIMIT,
    url: Url = None,
    json: Json = False,
) -> None:
    """Thousands of real files, two workers, and one of them killed in the middle: nothing may be lost.

    Every file becomes a job that reads it and gives back its bytes, lines and SHA-256. One worker is killed with
    SIGKILL while it holds jobs, and another takes its place. At the end every result is compared with a reading of
    the demo's own. The exit status is 1 if anything is missing or different. The queue of the demo is its own and is
    deleted at the end.
    """
    view = View.of_terminal(is_json=json)

    def run() -> int:
        address = ServerAddress(url, home=None, environ=os.environ)
        try:
            return play_demo(address.resolve(), DemoOptions(directory=directory, limit=limit), view)
        finally:
            address.close()

    end_with(run)


@app.command(epilog=examples("echomq server", "echomq server --port 6379 --data-dir /var/lib/echomq"))
def server(
    *,
    port: Annotated[
        int | None,
        typer.Option(envvar="ECHOMQ_PORT", help="A TCP port to listen on besides the socket.", show_default=False),
    ] = None,
    bind: Annotated[
        str | None,
        typer.Option(
            envvar="ECHOMQ_BIND",
            help="The addresses of the port, separated by spaces; without it only this machine can connect. There is"
            " no password.",
            show_default=False,
        ),
    ] = None,
    socket: Annotated[
        Path | None, typer.Option(envvar="ECHOMQ_SOCKET", help="Where the unix socket stands.", show_default=False)
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            envvar="ECHOMQ_DATA_DIR",
            help="Serve this directory instead of the user's own ($ECHOMQ_HOME).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the private server in the foreground until it is told to stop. Its addresses go to standard output."""
    raise typer.Exit(serve(home=default_home(os.environ), port=port, socket=socket, data_dir=data_dir, bind=bind))


@app.command(epilog=examples("echomq version", "echomq version --json"))
def version(*, json: Json = False) -> None:
    """Show which echomq this is."""
    view = View.of_terminal(is_json=json)
    end_with(lambda: show_version(view))
