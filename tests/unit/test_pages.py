"""What holds of all pages together: programs get along with each other and with a second run, links lead somewhere."""

import re
from collections import Counter
from pathlib import Path

import pytest
from mypy import api

from tests.pages import PAGES, ROOT, check_program, files_of, operate, page, programs_of, serving

QUEUE = re.compile(r"(?:\b(?:blocking_)?(?:jobs|lanes)\(|Worker\(app, )\"([^\"]+)\"")
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
LINKED = {
    "README.md": {
        "docs/using.md",
        "docs/lanes.md",
        "docs/operating.md",
        "docs/embedded.md",
        "docs/cli.md",
        "docs/module.md",
    },
    "docs/lanes.md": {"using.md", "operating.md", "cli.md", "wire.md"},
    "docs/operating.md": {"using.md", "lanes.md", "cli.md", "embedded.md", "errors.md", "module.md", "wire.md"},
    "docs/embedded.md": {"using.md", "operating.md", "module.md"},
    "docs/module.md": {"using.md", "wire.md", "cli.md"},
}


def anchors_of(text: str) -> set[str]:
    """Return what can be named behind a `#`, by the rule of those who show Markdown."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_each_program_has_a_queue_of_its_own() -> None:
    # The files of one page are one application and share theirs.
    users = [
        set(QUEUE.findall(source))
        for path in PAGES
        for source in [*programs_of(page(path)), *filter(None, ["".join(files_of(page(path)).values())])]
    ]

    assert all(users)
    assert {
        name: count for name, count in Counter(name for names in users for name in names).items() if count > 1
    } == {}


def test_all_pages_run_one_after_the_other_and_once_more_in_one_home(tmp_path: Path) -> None:
    for path in PAGES * 2:
        for program in programs_of(page(path)):
            check_program(program, tmp_path)


def test_all_programs_satisfy_a_strict_type_checker(tmp_path: Path) -> None:
    for path in PAGES:
        name = Path(path).stem.lower()
        sources = [*programs_of(page(path)), *files_of(page(path)).values()]
        for number, source in enumerate(sources):
            (tmp_path / f"{name}_{number}.py").write_text(source, encoding="utf-8")

    files = sorted(str(file) for file in tmp_path.glob("*.py"))
    out, err, code = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), *files])
    assert (code, err) == (0, ""), out
    assert f"in {len(files)} source files" in out


@pytest.mark.parametrize("path", PAGES)
def test_each_link_leads_somewhere(path: str) -> None:
    links = LINK.findall(page(path))

    assert links
    for target, anchor in links:
        file = (ROOT / path).parent / target if target else ROOT / path
        assert file.is_file(), target
        assert not anchor or anchor in anchors_of(file.read_text(encoding="utf-8")), (target, anchor)


@pytest.mark.parametrize("path", LINKED)
def test_a_page_leads_to_its_neighbours_and_to_the_words(path: str) -> None:
    links = LINK.findall(page(path))

    assert LINKED[path] <= {target for target, _ in links}
    assert any(target.endswith("using.md") and anchor == "words" for target, anchor in links)


def test_the_worker_of_the_operating_page_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    files = files_of(page("docs/operating.md"))
    assert list(files) == ["worker.py"]
    (tmp_path / "worker.py").write_text(files["worker.py"], encoding="utf-8")
    home, log = tmp_path / "home", tmp_path / "log"

    with serving(tmp_path / "worker.py", home, log) as wait_for:
        command = re.findall(r"`echomq (job add parcels) '(parcel 7)'`", page("docs/operating.md"))
        assert command
        operate(home, *command[0][0].split(), command[0][1])
        wait_for("INFO parcels sends parcel 7")
    assert "INFO parcels stopped: StopReport(" in log.read_text(encoding="utf-8")
