"""What is installed is what the source tree holds: no script, type marker or module is missing from the wheel."""

from pathlib import Path

import echomq

SOURCE = Path(__file__).resolve().parents[2] / "src" / "echomq"
INSTALLED = Path(echomq.__file__).parent


def test_every_file_of_the_source_tree_is_installed() -> None:
    wanted = {
        path.relative_to(SOURCE)
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix in {".py", ".lua", ".typed"}
    }
    assert wanted
    assert Path("py.typed") in wanted
    missing = {path for path in wanted if not (INSTALLED / path).is_file()}
    assert not missing


def test_the_installed_text_is_that_of_the_source_tree() -> None:
    stale = [
        path.relative_to(SOURCE)
        for path in (*SOURCE.rglob("*.py"), *SOURCE.rglob("*.lua"))
        if (INSTALLED / path.relative_to(SOURCE)).read_bytes() != path.read_bytes()
    ]
    assert not stale
