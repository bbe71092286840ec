"""The entry of the command `echomq`. Imports nothing of the extra `cli` before it knows that it is installed."""

import sys
from importlib.util import find_spec
from typing import Final

__all__ = ["MISSING", "run"]

MISSING: Final = (
    'echomq: the command needs the packages of the extra "cli", and {names} not installed: run  '
    'pip install "echomq[cli]"'
)


def run() -> None:
    """Run the command of `sys.argv` and exit with its code; see `exits.Exit`."""
    missing = [name for name in ("typer", "rich") if find_spec(name) is None]
    if missing:
        names = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
        print(MISSING.format(names=names), file=sys.stderr)
        sys.exit(1)
    from echomq.cli._tree import app  # noqa: PLC0415 - it needs the extra
    from echomq.cli.exits import give_up_writing  # noqa: PLC0415 - as above

    try:
        app()
    except OSError as error:  # the help: everything else is caught where commands are run
        sys.exit(give_up_writing(error.strerror, sys.stderr))


if __name__ == "__main__":
    run()
