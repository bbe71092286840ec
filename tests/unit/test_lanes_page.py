"""The page docs/lanes.md: its programs do what it says, the tests that it names are there, and so are its pictures."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from echomq import EchoMQ
from echomq.blocking_jobs import BlockingJobs
from echomq.keys import QueueKeys
from echomq.records import Claimed, Taken
from tests.harness.wire import Wire
from tests.pages import ROOT, check_program, page, programs_of, promised
from tests.servers import RealServer

PAGE = page("docs/lanes.md")
PROGRAMS = programs_of(PAGE)
TESTS = re.findall(r"`(tests/[a-z_/]+\.py)::(test_\w+)`", PAGE)
PICTURES = re.findall(r"\]\((pictures/[a-z]+\.svg)\)", PAGE)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One server for all: each program has a queue of its own."""
    return tmp_path_factory.mktemp("lanes")


def test_all_programs_are_found() -> None:
    assert len(PROGRAMS) == PAGE.count("```python") == 5
    assert all(promised(program) for program in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_the_page_says(program: str, home: Path) -> None:
    check_program(program, home)


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


def started_in(path: str) -> list[str]:
    """Return the names of the jobs that a picture's last row shows as starting, in order."""
    last = (ROOT / "docs" / path).read_text(encoding="utf-8").partition("<!-- what comes of it -->")[2]
    return re.findall(r'class="job"[^>]*>(\w+)<', last)


@pytest.fixture
def app(real_server: RealServer) -> Iterator[EchoMQ]:
    with EchoMQ(real_server.url) as app:
        yield app
    with Wire(real_server.unix_path) as wire:
        wire.ask("FLUSHDB")


def took(mail: BlockingJobs, size: int) -> tuple[Claimed, ...]:
    taken = mail.take(lease_ms=30_000, size=size)
    assert isinstance(taken, Taken)
    return taken.jobs


def names(jobs: tuple[Claimed, ...]) -> list[str]:
    return [(claimed.payload or b"").decode() for claimed in jobs]


def test_the_first_picture_shows_what_starts(app: EchoMQ, keys: QueueKeys) -> None:
    mail, lanes = app.blocking_jobs(keys.queue), app.blocking_lanes(keys.queue)
    lanes.pause("dora")
    lanes.limit("emil", 2)
    mail.enqueue_many([b"e-running"] * 2, lane="emil")
    assert len(took(mail, 2)) == 2
    for lane, count in {"acme": 9, "bolt": 8, "cora": 1, None: 3, "dora": 3, "emil": 3}.items():
        first = "n" if lane is None else lane[0]
        mail.enqueue_many([f"{first}{number}".encode() for number in range(1, count + 1)], lane=lane)

    assert names(took(mail, 10)) == started_in("pictures/lanes.svg")


def test_the_second_picture_shows_what_starts(app: EchoMQ, keys: QueueKeys) -> None:
    mail, lanes = app.blocking_jobs(keys.queue), app.blocking_lanes(keys.queue)
    lanes.weight("acme", 3)
    for lane in ("acme", "bolt"):
        mail.enqueue_many([f"{lane[0]}{number}".encode() for number in range(1, 20)], lane=lane)

    assert [name for size in (4, 2, 4) for name in names(took(mail, size))] == started_in("pictures/take.svg")
