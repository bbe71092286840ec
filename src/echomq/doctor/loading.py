"""A finding: how the module is loaded into this server."""

from pathlib import Path
from typing import Final

from echomq.doctor.finding import Facts, Finding, note
from echomq.doctor.told import Told

__all__ = ["loading"]

_WITHOUT: Final = "where a managed server loads no modules of yours, leave it: scripts do everything (docs/module.md)"


def loading(told: Told) -> Finding | None:
    """Return how the module is loaded; nothing where it is."""
    if told.loaded is not None:
        return None
    path, theirs = told.own.path, _system(told)
    facts: Facts = {
        "path": None if path is None else str(path),
        "system": told.own.system,
        "server_system": theirs,
        "enable_module_command": told.config.get("enable-module-command"),
    }
    if path is None:
        says = "This installation has no module, since no C compiler was there when it was built."
        todo = (
            "install a compiler and then echomq once more, from its sources; `echomq module path` says where it is then"
        )
        return note("module", says, todo, _WITHOUT, **facts)
    if theirs not in (None, told.own.system):
        says = f"The module of this installation is for {told.own.system}, and the server runs on {theirs}."
        todo = "build it there: copy the directory `module` of the sources, and run  make -C module"
        return note("module", says, todo, *_steps(told, Path("/path/to/emq.so")), **facts)
    like = "; the server must be the same" if theirs is None else " like the server"
    says = f"The module of this installation is {path}, built for {told.own.system}{like}."
    return note("module", says, *_steps(told, path), **facts)


def _steps(told: Told, path: Path) -> tuple[str, ...]:
    if told.place.is_embedded:
        return ("the embedded server loads it at its next start: end the programs that use it, and wait ten seconds",)
    name = f'"{path}"' if " " in str(path) else str(path)
    return (
        "the file must be where the server may read and execute it; docs/module.md has the steps for Debian and Docker",
        f"at each start, by a line in valkey.conf:  loadmodule {name}",
        _at_once(told, name),
        _WITHOUT,
    )


def _at_once(told: Told, name: str) -> str:
    load = f"at once, without a restart:  valkey-cli MODULE LOAD {name}"
    match told.config.get("enable-module-command"):
        case "yes":
            return load
        case "local":
            return f"{load}  (on the server's machine, since enable-module-command is local)"
        case "no":
            return "not without a restart, since MODULE LOAD is switched off there (enable-module-command is no)"
        case _:
            return f"{load}  (where enable-module-command is yes, or local and you are on its machine)"


def _system(told: Told) -> str | None:
    """Return the server's system and architecture: the ends of a line like `Linux 6.1.0 x86_64`."""
    words = told.info.get("os", "").split()
    return f"{words[0]} {words[-1]}" if len(words) > 1 else None
