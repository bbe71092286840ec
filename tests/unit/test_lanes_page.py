"""The page docs/lanes.md: its programs do what it says, the tests that it names are there, and so are its pictures."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "lanes.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
TESTS = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", PAGE)
PICTURES = re.findall(r"\]\((pictures/[a-z]+\.svg)\)", PAGE)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One server for all: each program has a queue of its own."""
    return tmp_path_factory.mktemp("lanes")


def promised(program: str) -> list[str]:
    """Return what stands behind the prints, in order."""
    return re.findall(r"print\(.*\) +# (.*)$", program, re.MULTILINE)


def test_all_programs_are_found() -> None:
    assert len(PROGRAMS) == PAGE.count("```python") == 5
    assert all(promised(program) for program in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
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


def test_each_promise_names_a_test() -> None:
    promises = PAGE.partition("| promise | held by |")[2].partition("\n\n")[0].strip().splitlines()[1:]

    assert len(promises) == len(TESTS) > 5


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_a_test_that_the_page_names_is_there(path: str, name: str) -> None:
    assert re.search(rf"^ *(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_there_are_two_pictures() -> None:
    assert PICTURES == ["pictures/lanes.svg", "pictures/take.svg"]


@pytest.mark.parametrize("path", PICTURES)
def test_a_picture_stands_for_itself_and_says_what_it_shows(path: str) -> None:
    text = (ROOT / "docs" / path).read_text(encoding="utf-8")
    picture = ElementTree.fromstring(text)

    assert picture.findtext(f"{SVG}title")
    assert picture.findtext(f"{SVG}desc")
    assert not re.search(r"href|<script|<image|@import|url\((?!#)", text), "nothing is fetched from elsewhere"
    # It has a ground of its own, since its text is dark whatever the page's colour is.
    ground = picture.find(f"{SVG}rect")
    assert ground is not None
    assert ground.get("fill") == "#f8fafc"
