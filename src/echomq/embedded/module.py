"""Finds the module that was compiled with this installation: the same transitions as commands of the server.

A wheel has it as echomq/_native/emq.so, a source tree as module/emq.so. It is there when a C compiler was there when
that was built; without it all goes by scripts.
"""

from pathlib import Path

__all__ = ["module_path"]

_PACKAGE = Path(__file__).parents[1]


def module_path() -> Path | None:
    """Return the file that a server loads with ``--loadmodule`` or ``MODULE LOAD``; None when there is none."""
    places = [_PACKAGE / "_native" / "emq.so"]
    if (_PACKAGE.parents[1] / "module" / "emq.h").is_file():
        places.append(_PACKAGE.parents[1] / "module" / "emq.so")
    return next((place for place in places if place.is_file()), None)
