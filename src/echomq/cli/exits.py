"""What the exit codes mean, and how what a command raises becomes one. `docs/cli.md` is the table for users."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import TextIO

from echomq.cli.render import Unwritten
from echomq.errors import BadInput, EchoMQError

__all__ = ["Exit", "Terminated", "exit_code_of", "give_up_output", "give_up_writing", "terminable"]


class Exit(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    FAILED = 1  # the sentence on standard error says why; for the demo: something is missing or different
    USAGE = 2  # an argument that cannot be
    NOT_SO = 3  # there is no such job, or it is not in the state that this needs; nothing was changed
    NOT_CONFIRMED = 4  # asked, and not answered with yes; nothing was changed
    UNWRITTEN = 5  # it was done, and its output could not be written
    INTERRUPTED = 130  # Ctrl-C
    BROKEN_PIPE = 141  # whoever read the output has gone
    TERMINATED = 143  # SIGTERM


class Terminated(BaseException):
    """SIGTERM came. Not an `Exception`, so that only cleaning up happens on its way out."""


def exit_code_of(command: Callable[[], int], err: TextIO) -> int:
    """Run a command and return its exit code. What echomq raises becomes its sentence on `err`, without a traceback."""
    try:
        return command()
    except BadInput as error:
        return _say(error, Exit.USAGE, err)
    except EchoMQError as error:
        return _say(error, Exit.FAILED, err)
    except KeyboardInterrupt:
        return _say("interrupted", Exit.INTERRUPTED, err)
    except Terminated:
        return _say("told to end", Exit.TERMINATED, err)
    except BrokenPipeError:
        give_up_output()
        return Exit.BROKEN_PIPE
    except Unwritten as error:
        return give_up_writing(error, err)
    except OSError as error:
        return _say(f"this machine refused ({error})", Exit.FAILED, err)


def give_up_writing(why: object, err: TextIO) -> Exit:
    """Say on `err` that the output could not be written, and return the code for that."""
    give_up_output()
    return _say(f"the output could not be written ({why}); the command itself was carried out", Exit.UNWRITTEN, err)


@contextmanager
def terminable() -> Iterator[None]:
    """Within this, SIGTERM raises `Terminated` in the main thread, so that what must be cleaned up is."""

    def raise_it(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, raise_it)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def give_up_output() -> None:
    """Send what standard output still holds to nowhere: Python would complain of it once more, with code 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: object, code: Exit, err: TextIO) -> Exit:
    with contextlib.suppress(OSError):  # where standard error cannot be written either, the code has to do
        print(f"echomq: {sentence}", file=err, flush=True)
    return code
