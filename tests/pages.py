"""The programs in the pages: where they stand, what they promise to print, and how they are run.

Each runs on a machine with no server and no settings but a home of its own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "check_program", "programs_of", "promised", "run_program"]

ROOT = Path(__file__).resolve().parents[1]


def programs_of(page: str) -> list[str]:
    """Return the Python programs of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def promised(program: str) -> list[str]:
    """Return what stands behind the prints, in order; `…` is any text."""
    return re.findall(r"print\(.*\) +# (.*)$", program, re.MULTILINE)


def run_program(program: str, home: Path) -> list[str]:
    """Run a program and return the lines it printed; a warning is an error."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ECHOMQ_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**environ, "ECHOMQ_HOME": str(home)},
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
