"""The programs in the pages: where they stand, what they promise to print, and how they are run.

Each runs on a machine with no server and no settings but a home of its own. A program whose first line is its file's
name, such as `# worker.py`, serves until it is stopped or is part of another: its page's test makes that file.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "PAGES",
    "ROOT",
    "check_program",
    "environment",
    "files_of",
    "operate",
    "page",
    "programs_of",
    "promised",
    "run_program",
    "serving",
]

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/using.md", "docs/lanes.md", "docs/operating.md", "docs/embedded.md", "docs/module.md")

_PROGRAM = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\w+\.py)\n")


def page(path: str) -> str:
    """Return the text of a page."""
    return (ROOT / path).read_text(encoding="utf-8")


def programs_of(text: str) -> list[str]:
    """Return the Python programs of a page that run as they stand and end by themselves, in order."""
    return [program for program in _PROGRAM.findall(text) if not _FILE.match(program)]


def files_of(text: str) -> dict[str, str]:
    """Return the Python programs of a page that have a file's name, under that name."""
    return {match[1]: program for program in _PROGRAM.findall(text) if (match := _FILE.match(program))}


def promised(program: str) -> list[str]:
    """Return what stands behind the prints, in order; `…` is any text."""
    return re.findall(r"print\(.*\) +# (.*)$", program, re.MULTILINE)


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a program that knows nothing of echomq but its home."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ECHOMQ_")}
    return {**environ, "ECHOMQ_HOME": str(home)}


def operate(home: Path, *arguments: str) -> str:
    """Run the command `echomq` and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "echomq", *arguments],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


@contextmanager
def serving(path: Path, home: Path, log: Path) -> Iterator[Callable[[str], None]]:
    """Run a file that serves until SIGTERM, which must end it well; yields what waits for a text in its log."""
    with (
        log.open("wb") as written,
        subprocess.Popen([sys.executable, "-W", "error", str(path)], env=environment(home), stderr=written) as process,
    ):

        def wait_for(text: str) -> None:
            deadline = time.monotonic() + 30
            while text not in log.read_text(encoding="utf-8"):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < deadline, (text, log.read_text(encoding="utf-8"))
                time.sleep(0.01)

        try:
            yield wait_for
            process.terminate()
            assert process.wait(timeout=30) == 0, log.read_text(encoding="utf-8")
        finally:
            process.kill()


def run_program(program: str, home: Path) -> list[str]:
    """Run a program and return the lines it printed; a warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check_program(program: str, home: Path) -> None:
    """Run a program and hold each print to what stands behind it."""
    printed = run_program(program, home)
    assert len(printed) == len(promised(program)), printed
    for line, pattern in zip(printed, promised(program), strict=True):
        assert re.fullmatch(re.escape(pattern).replace("…", ".+"), line), (line, pattern)
