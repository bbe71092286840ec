"""Findings: do calls go by the module's commands or by scripts, and do idle workers wait in a command."""

from typing import Final

from echomq.carriers.module import COMMANDS
from echomq.doctor.finding import Facts, Finding, listed, note, ok
from echomq.doctor.told import LoadedModule, Right, Told

__all__ = ["COST", "blocking", "carrier"]

COST: Final = "two to seven times as much of its time"
"""What a step of a job costs the server by a script, against the command; docs/module.md has the figures."""


def carrier(told: Told) -> Finding:
    """Return which carrier is in use, and what goes by script all the same."""
    if told.loaded is None:
        says = f"Calls go by scripts, since the server has no module of echomq. All works; each step costs it {COST}."
        return note("carrier", says, **_facts(told, served=0))
    if not _is_used(told):
        says = "Calls go by scripts: the server has the module, but with RESP2 it does not say so."
        return note("carrier", says, "leave `resp` out of ConnectionOptions", **_facts(told, served=0))
    return _by_module(told, told.loaded)


def _by_module(told: Told, loaded: LoadedModule) -> Finding:
    missing, denied = _having(told, Right.ABSENT), _having(told, Right.DENIED)
    served, user = len(COMMANDS) - len(missing) - len(denied), told.place.user
    says = f"Calls go by the module (version {loaded.version}): {served} of its {len(COMMANDS)} commands can be used."
    todo: list[str] = []
    if missing:
        says += f" The server's module is another one and has not {listed(missing)}; scripts do that."
        todo.append("load the module that `echomq module path` shows in its place")
    if denied:
        says = f"{says} {user} may not run {listed(denied)}; scripts do that." if served else _of_none(loaded, user)
        todo.append(f"ACL SETUSER {user} {' '.join(f'+{name.lower()}' for name in denied)}")
    facts = _facts(told, served=served, missing=missing, denied=denied)
    return note("carrier", says, *todo, **facts) if todo else ok("carrier", says, **facts)


def _of_none(loaded: LoadedModule, user: str) -> str:
    return f"Calls go by scripts: the server has the module (version {loaded.version}), and {user} may run none of it."


def _is_used(told: Told) -> bool:
    """Say whether calls go by commands: the connector learns of the module from HELLO 3, and asks nobody else."""
    return told.loaded is not None and told.resp == 3


def _facts(told: Told, *, served: int, missing: list[str] | None = None, denied: list[str] | None = None) -> Facts:
    return {
        "carrier": "module" if served else "scripts",
        "module_version": None if told.loaded is None else told.loaded.version,
        "module_path": None if told.loaded is None else told.loaded.path,
        "commands": served,
        "commands_missing": missing or [],
        "commands_denied": denied or [],
    }


def _having(told: Told, right: Right) -> list[str]:
    return [f"EMQ.{name.upper()}" for name in sorted(COMMANDS) if told.rights.of(f"emq.{name}") is right]


def blocking(told: Told) -> Finding | None:
    """Return whether idle workers may wait in the module's take; nothing where the module is not used."""
    if not _is_used(told) or "CONFIG GET" in told.refused:
        return None
    match told.config.get("echomq.blocking"):
        case "yes":
            return ok("blocking", "Idle workers may wait in EMQ.TAKE (echomq.blocking yes).", blocking=True)
        case "no":
            says = "Idle workers wait on the list `wake`, since blocking is switched off (echomq.blocking no)."
            return note("blocking", says, "CONFIG SET echomq.blocking yes", blocking=False)
        case _:
            says = "Idle workers wait on the list `wake`, since the server's module cannot block."
            return note("blocking", says, blocking=None)
