"""The programs of docs/using.md do what it says: each print prints what stands behind it, and the application works."""

import re
import shlex
from pathlib import Path

import pytest

from echomq import EchoMQ
from tests.pages import check_program, files_of, operate, page, programs_of, promised, run_program, serving

PAGE = page("docs/using.md")
PROGRAMS = programs_of(PAGE)
FILES = files_of(PAGE)
COMMANDS = re.findall(r"^echomq ([^#\n]*?) *(?:#.*)?$", PAGE, re.MULTILINE)
REQUESTS = """
from concurrent.futures import ThreadPoolExecutor
import web

def ask(request):
    customer, path = request
    said = []
    environ = {"HTTP_X_CUSTOMER": customer, "PATH_INFO": path}
    body = web.application(environ, lambda status, headers: said.append(status))
    return said[0], b"".join(body).decode()

customers = ["acme", "bolt", "trial-17"]
with ThreadPoolExecutor(8) as threads:
    for status, _ in threads.map(ask, [(customer, f"/{n}") for n in range(4) for customer in customers]):
        print(status)
print(*ask(("no such name!", "/1")))
web.app.close()
"""
HEADINGS = {
    program: re.findall(r"^## (.*)$", PAGE[: PAGE.index(program)], re.MULTILINE)[-1].replace(" ", "-")
    for program in PROGRAMS
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One server for all: each program has a queue of its own."""
    return tmp_path_factory.mktemp("using")


def test_all_programs_are_found() -> None:
    assert list(FILES) == ["web.py", "worker.py"]
    assert len(PROGRAMS) + len(FILES) == PAGE.count("```python") == 12
    assert all(promised(program) for program in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=HEADINGS.values())
def test_a_program_prints_what_the_page_says(program: str, home: Path) -> None:
    check_program(program, home)


def test_the_web_application_its_workers_and_its_operator_work_together(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    printed = run_program(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{REQUESTS}", home)
    assert printed[:-1] == ["202 Accepted"] * 12
    assert printed[-1].startswith("400 Bad Request 'no such name!' is not a valid lane name")

    assert len(COMMANDS) == 6
    for command in COMMANDS:
        if "resume" not in command:
            operate(home, *shlex.split(command))
    with EchoMQ(home=home, environ={}) as app:
        jobs, lanes = app.blocking_jobs("reports"), app.blocking_lanes("reports")
        assert {lane.lane: (lane.depth, lane.limit, lane.weight, lane.paused) for lane in lanes.list_all()} == {
            "acme": (4, None, 2, False),
            "bolt": (4, None, 1, True),
            "trial-17": (4, 1, 1, False),
        }
        assert jobs.counts()["scheduled"] == 12, "one reminder for each report"

    with serving(tmp_path / "worker.py", home, log) as wait_for:
        for customer in ("acme", "trial-17"):
            for number in range(4):
                wait_for(f"/{number} for {customer}\n")
        assert "for bolt" not in log.read_text(encoding="utf-8")
        operate(home, *shlex.split(next(command for command in COMMANDS if "resume" in command)))
        for number in range(4):
            wait_for(f"/{number} for bolt\n")
