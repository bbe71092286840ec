"""The arguments that several commands share, and how a command is run. Every flag has an environment variable."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, NoReturn, TypeVar

import typer

from echomq.app import EchoMQ
from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.cli.exits import exit_code_of, terminable
from echomq.cli.names import Asker
from echomq.drivers.address import parse_address
from echomq.drivers.blocking import BlockingClient
from echomq.embedded import default_home
from echomq.errors import InvalidOption
from echomq.resp.reply import Reply
from echomq.transitions.call import Call

__all__ = [
    "Json",
    "Limit",
    "NumberOrNone",
    "Queue",
    "Url",
    "Yes",
    "end_with",
    "examples",
    "noun",
    "number_or_none",
    "on_app",
    "on_both",
    "on_lanes",
    "on_queue",
    "server_of",
]

Url = Annotated[
    str | None,
    typer.Option(
        envvar="ECHOMQ_URL",
        metavar="URL",
        help="The server: valkey://user:password@host:port/db, valkeys:// (TLS) or unix:///path. Without it the"
        " private server of this user is started or joined.",
    ),
]
Json = Annotated[bool, typer.Option("--json", envvar="ECHOMQ_JSON", help="Write the data as one JSON object.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", envvar="ECHOMQ_YES", help="Do it without asking.")]
Limit = Annotated[int, typer.Option(min=1, envvar="ECHOMQ_LIMIT", help="How many at most.")]
Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.", show_default=False)]
NumberOrNone = Annotated[str, typer.Argument(metavar="N|none", help="A number, or none.", show_default=False)]

_DIGITS_MAX = 15

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Client:
    """A client and the name of its server."""

    client: BlockingClient
    server: str

    def command(self, *parts: bytes | str | int) -> Reply:
        return self.client.command(*parts)

    def run(self, call: Call[Answer]) -> Answer:
        return self.client.run(call)


def noun(name: str, help_text: str) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(name=name, help=help_text, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


def examples(*lines: str) -> str:
    """Return the examples that end a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def number_or_none(name: str, text: str) -> int | None:
    """Return the number that a `NumberOrNone` says. Raises `InvalidOption`."""
    if text == "none":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS_MAX:
        raise InvalidOption(name, text, f"none, or a whole number of at most {_DIGITS_MAX} digits")
    return int(text)


def end_with(command: Callable[[], int]) -> NoReturn:
    """Run a command and end the process with its exit code, Ctrl-C and SIGTERM included."""
    with terminable():
        code = exit_code_of(command, sys.stderr)
    raise typer.Exit(code)


def on_app(url: str | None, command: Callable[[EchoMQ, Asker], int]) -> NoReturn:
    """Run a command on a server, with a client for plain commands, and end with its exit code."""

    def run() -> int:
        with EchoMQ(url) as app:
            client = app.new_blocking_client()
            try:
                return command(app, _Client(client, server_of(url, os.environ)))
            finally:
                client.close()

    end_with(run)


def server_of(url: str | None, environ: Mapping[str, str]) -> str:
    """Return which server an address stands for, without its password; None: the embedded one of the user's home."""
    return f"the embedded server in {default_home(environ)}" if url is None else str(parse_address(url))


def on_queue(url: str | None, queue: str, command: Callable[[BlockingJobs, Asker], int]) -> NoReturn:
    """Run a command on the jobs of a queue and end with its exit code."""
    on_app(url, lambda app, client: command(app.blocking_jobs(queue), client))


def on_lanes(url: str | None, queue: str, command: Callable[[BlockingLanes, Asker], int]) -> NoReturn:
    """Run a command on the lanes of a queue and end with its exit code."""
    on_app(url, lambda app, client: command(app.blocking_lanes(queue), client))


def on_both(url: str | None, queue: str, command: Callable[[BlockingJobs, BlockingLanes, Asker], int]) -> NoReturn:
    """Run a command on the jobs and the lanes of a queue and end with its exit code."""
    on_app(url, lambda app, client: command(app.blocking_jobs(queue), app.blocking_lanes(queue), client))
