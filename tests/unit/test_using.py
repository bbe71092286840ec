"""The programs of docs/using.md do what it says: each print prints what stands behind it."""

import re
from pathlib import Path

import pytest

from tests.pages import ROOT, check_program, programs_of, promised

PAGE = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
PROGRAMS = programs_of(PAGE)
HEADINGS = {
    program: re.findall(r"^## (.*)$", PAGE[: PAGE.index(program)], re.MULTILINE)[-1].replace(" ", "-")
    for program in PROGRAMS
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One server for all: each program has a queue of its own."""
    return tmp_path_factory.mktemp("using")


def test_all_programs_are_found() -> None:
    assert len(PROGRAMS) == PAGE.count("```python") == 10
    assert all(promised(program) for program in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=HEADINGS.values())
def test_a_program_prints_what_the_page_says(program: str, home: Path) -> None:
    check_program(program, home)
