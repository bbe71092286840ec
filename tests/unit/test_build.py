"""The wheel has the module where a C compiler is there, and is built without it, and says so, where none is."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.servers import built_module

ROOT = Path(__file__).parents[2]
SO = "echomq/_native/emq.so"
PARTS = ("src", "module", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources alone, so that nothing is written beside the ones under test."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        else:
            shutil.copy(ROOT / part, tree / part)
    return tree


def build(tree: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tree / "out"), str(tree)]
    plain = {name: text for name, text in os.environ.items() if name not in ("CC", "ECHOMQ_BUILD_MODULE")}
    return subprocess.run(command, env={**plain, **env}, capture_output=True, text=True, timeout=120, check=False)


def wheel(tree: Path) -> tuple[str, list[str]]:
    [path] = (tree / "out").glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        return path.name, opened.namelist()


def test_without_a_compiler_there_is_no_module_and_the_build_says_so(tree: Path) -> None:
    done = build(tree, CC="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert "echomq is built without its module" in done.stdout + done.stderr
    name, held = wheel(tree)
    assert name.endswith("-py3-none-any.whl")
    assert SO not in held


def test_the_module_may_be_required_or_left_out(tree: Path) -> None:
    done = build(tree, CC="/nonexistent", ECHOMQ_BUILD_MODULE="require")
    assert done.returncode != 0
    assert "the module cannot be built" in done.stdout + done.stderr
    assert build(tree, ECHOMQ_BUILD_MODULE="no").returncode == 0
    assert SO not in wheel(tree)[1]


def test_with_a_compiler_the_wheel_has_the_module_and_is_for_this_platform(tree: Path) -> None:
    if built_module() is None:
        pytest.skip("no C compiler, so there is no module")
    done = build(tree, ECHOMQ_BUILD_MODULE="require")
    assert done.returncode == 0, done.stderr
    name, held = wheel(tree)
    assert "-py3-none-" in name
    assert not name.endswith("-any.whl")
    assert SO in held
