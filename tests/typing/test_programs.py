"""Programs as users write them: those that must type-check, and the lines that must not."""

import re
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).parent
ERROR = re.compile(r"^.*?:(\d+): error: .*\[([\w-]+)\]$")
EXPECTED = re.compile(r"# error: ([\w-]+)$")


def errors_of(path: Path, cache: Path) -> list[tuple[int, str]]:
    out, err, _ = api.run(["--strict", "--no-error-summary", "--cache-dir", str(cache), str(path)])
    assert not err, err
    found = [ERROR.match(line) for line in out.splitlines() if ": error:" in line]
    assert all(found), out
    return sorted((int(match.group(1)), match.group(2)) for match in found if match)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.parametrize("path", sorted((HERE / "accept").glob("*.py")), ids=lambda path: path.stem)
def test_a_users_program_type_checks(path: Path, cache: Path) -> None:
    assert errors_of(path, cache) == []


@pytest.mark.parametrize("path", sorted((HERE / "refuse").glob("*.py")), ids=lambda path: path.stem)
def test_what_would_go_wrong_does_not_type_check(path: Path, cache: Path) -> None:
    expected = [
        (number, match.group(1))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (match := EXPECTED.search(line))
    ]
    assert expected
    assert errors_of(path, cache) == expected
