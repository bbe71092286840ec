"""The README's programs do what it says, on a machine with no server and no settings."""

from pathlib import Path

import pytest

from tests.pages import check_program, page, programs_of, promised

PAGE = page("README.md")
PROGRAMS = programs_of(PAGE)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One server for all: each program has a queue of its own."""
    return tmp_path_factory.mktemp("readme")


def test_all_programs_are_found() -> None:
    assert len(PROGRAMS) == PAGE.count("```python") == 3
    assert all(promised(program) for program in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=["first", "plain", "lanes"])
def test_a_program_prints_what_the_page_says(program: str, home: Path) -> None:
    check_program(program, home)


def test_what_is_needed_is_said_before_the_first_program() -> None:
    assert PAGE.index("## Install") < PAGE.index("```python")
