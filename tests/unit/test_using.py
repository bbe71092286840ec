"""The programs of docs/using.md do what it says: each print prints what stands behind it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "using.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
HEADINGS = {
    program: re.findall(r"^## (.*)$", PAGE[: PAGE.index(program)], re.MULTILINE)[-1].replace(" ", "-")
    for program in PROGRAMS
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One server for all: each program has a queue of its own."""
    return tmp_path_factory.mktemp("using")


def promised(program: str) -> list[str]:
    """Return what stands behind the prints, in order."""
    return re.findall(r"print\(.*\) +# (.*)$", program, re.MULTILINE)


def test_all_programs_are_found() -> None:
    assert len(PROGRAMS) == PAGE.count("```python") == 10
    assert all(promised(program) for program in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=HEADINGS.values())
def test_a_program_prints_what_the_page_says(program: str, home: Path) -> None:
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
    printed = done.stdout.splitlines()
    assert len(printed) == len(promised(program)), done.stdout
    for line, pattern in zip(printed, promised(program), strict=True):
        assert re.fullmatch(re.escape(pattern).replace("…", ".+"), line), (line, pattern)
