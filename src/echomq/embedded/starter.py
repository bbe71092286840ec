"""Starts the keeper as a process of its own and waits for what it says."""

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from echomq.embedded import logs
from echomq.embedded.paths import Layout
from echomq.errors import EmbeddedFailed, EmbeddedUnavailable

__all__ = ["start_keeper"]


def start_keeper(layout: Layout, *, deadline: float, linger_ms: int) -> None:
    """Start a keeper and return when its server is ready, or when another keeper turned out to live.

    Raises `EmbeddedFailed` or `EmbeddedUnavailable` as the keeper says, or when it says nothing until `deadline` (on
    `time.monotonic`); it then goes on, and leaves when nobody has come.
    """
    since_bytes = logs.size_bytes(layout.keeper_log)
    answer = _run(layout, deadline=deadline, linger_ms=linger_ms)
    if answer is None:
        raise EmbeddedFailed(
            f"the embedded server in {layout.home} was not ready in time: give it more with start_timeout_ms, or look"
            f" at {layout.server_log}\n{logs.tail(layout.server_log)}"
        )
    if not answer:
        raise EmbeddedFailed(
            f"the keeper of the embedded server ended at once\n{logs.tail(layout.keeper_log, since_bytes=since_bytes)}"
        )
    told = json.loads(answer)
    match told["outcome"]:
        case "ready" | "taken":
            return
        case "unavailable":
            raise EmbeddedUnavailable(told["text"])
        case _:
            raise EmbeddedFailed(told["text"])


def _run(layout: Layout, *, deadline: float, linger_ms: int) -> bytes | None:
    """Return the keeper's line, empty when it died without one, None when the time is up."""
    with logs.opened(layout.keeper_log) as log, _spawn(layout.home, linger_ms, log) as process:
        assert process.stdout is not None
        return _line(process.stdout, deadline)


def _spawn(home: Path, linger_ms: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    command = _command(home, linger_ms)
    try:
        return subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=home,
            env=_environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise EmbeddedFailed(f"the keeper of the embedded server cannot be started ({error})") from error


def _command(home: Path, linger_ms: int) -> list[str]:
    if getattr(sys, "frozen", False) or not sys.executable:
        raise EmbeddedUnavailable(
            "the embedded server needs a Python interpreter to run its keeper, and this program is packed without one:"
            " start `echomq server` or a Valkey yourself and give its address in ECHOMQ_URL"
        )
    # -P: the working directory, which is the state directory, is no place to import from.
    module = "echomq.embedded.keeper"
    return [sys.executable, "-P", "-m", module, "--home", str(home), "--linger-ms", str(linger_ms)]


def _environment() -> dict[str, str]:
    # Nothing is read from it here. It is handed on, with the places this process imports from, however it got them.
    places = [os.path.abspath(place) for place in sys.path]  # noqa: PTH100 - "" means the working directory
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


def _line(stream: IO[bytes], deadline: float) -> bytes | None:
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not received.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            piece = os.read(stream.fileno(), 65536)
            if not piece:
                return b""
            received += piece
    return received
