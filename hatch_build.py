"""Compiles the module into the wheel, as echomq/_native/emq.so, when there is a C compiler.

Without one the wheel is built without it, says so, and everything works through the scripts. The compiler is `$CC`, or
the first of cc, gcc and clang. `ECHOMQ_BUILD_MODULE` decides otherwise: `no` leaves the module out, `require` lets the
build fail where it cannot be compiled. An editable install compiles it to module/emq.so.
"""

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FLAGS = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared")
"""Those of module/Makefile, without its warnings: what a compiler of tomorrow warns of is no reason to have none."""


class ModuleHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling gives the parameter no name
    """The build hook of wheels."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add what was compiled to the wheel."""
        wish = os.environ.get("ECHOMQ_BUILD_MODULE", "").lower()
        if self.target_name != "wheel" or wish == "no":
            return
        root = Path(self.root)
        target = root / ("module/emq.so" if version == "editable" else "build/emq.so")
        trouble = compile_module(root / "module", target)
        if trouble is not None:
            if wish == "require":
                raise RuntimeError(f"the module cannot be built: {trouble}")
            self.app.display_warning(f"echomq is built without its module, so all goes by scripts: {trouble}")
            return
        if version != "editable":
            build_data["force_include"][str(target)] = "echomq/_native/emq.so"
            build_data["pure_python"] = False
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"


def compile_module(sources: Path, target: Path) -> str | None:
    """Compile all C files of a directory into one shared object. Return why it cannot be done, or None."""
    compiler = _compiler()
    if os.name != "posix":
        return "servers that load modules do not run here"
    if compiler is None:
        return "there is no C compiler (cc, gcc, clang, or the one that CC names)"
    files = sorted(str(path) for path in sources.glob("*.c"))
    if not files:
        return f"there are no sources in {sources}"
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    done = subprocess.run([*compiler, *FLAGS, "-o", str(fresh), *files], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"{compiler[0]} failed: {done.stderr.strip()[-2000:]}"
    fresh.replace(target)  # a server may have the old one loaded: its pages must not change under it
    return None


def _compiler() -> list[str] | None:
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        return named if shutil.which(named[0]) else None
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
