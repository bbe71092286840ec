"""The settings of a server that echomq starts, as command line arguments."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from echomq.embedded.module import module_path
from echomq.embedded.paths import Layout

__all__ = ["Listen", "own_modules", "server_arguments"]


def own_modules() -> tuple[Path, ...]:
    """Return the modules that every server of ours loads: echomq's, where it was built."""
    path = module_path()
    return () if path is None else (path,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where a server listens beside its unix socket, and what it loads."""

    port: int = 0  # 0: no TCP at all
    bind: tuple[str, ...] = ("127.0.0.1",)
    protected: bool = True  # False: clients from other machines are let in without a password
    log_to_stderr: bool = False  # False: to the log file
    modules: tuple[Path, ...] = field(default_factory=own_modules)  # loaded in this order


def server_arguments(binary: Path, layout: Layout, listen: Listen) -> Sequence[str]:
    """Return the whole command line. The server quotes each argument itself, so any path will do.

    Every write goes to the append-only file before it is answered, and the file is flushed to disk once a second. A
    crash of the machine costs about that second. A crash of the server alone costs only what it answered while such a
    flush was going on (milliseconds, two seconds at most), since those writes wait for its end. There is no memory
    limit: evicting a key would lose a job.
    """
    settings: dict[str, Sequence[str]] = {
        "port": [str(listen.port)],
        "bind": listen.bind,
        "protected-mode": ["yes" if listen.protected else "no"],
        "unixsocket": [str(layout.socket)],
        "unixsocketperm": ["700"],
        "dir": [str(layout.data)],
        "appendonly": ["yes"],
        "appendfsync": ["everysec"],
        "aof-load-truncated": ["yes"],
        "save": [""],
        "maxmemory": ["0"],
        "maxmemory-policy": ["noeviction"],
        "timeout": ["0"],
        "daemonize": ["no"],
        "pidfile": [str(layout.pid_file)],
        "loglevel": ["notice"],
        "logfile": ["" if listen.log_to_stderr else str(layout.server_log)],
    }
    arguments = [str(binary)]
    for name, values in settings.items():
        arguments += [f"--{name}", *values]
    for module in listen.modules:
        arguments += ["--loadmodule", str(module)]
    return arguments
