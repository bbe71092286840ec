"""The module's bag of keys and lanes without memory: nothing is lost, and what was reserved is there."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

MODULE = Path(__file__).parents[3] / "module"
HERE = Path(__file__).parent


@pytest.fixture(scope="module", params=[1, 16])
def bag(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ctypes.CDLL:
    """The bag, with so many items in its owner's memory."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("bag") / "bag.so"
    checks = ["-fsanitize=undefined,bounds", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Werror"]
    command = [compiler, "-std=c11", "-O1", "-fPIC", "-shared", *checks, f"-DEMQ_BAG_FIRST={request.param}"]
    subprocess.run(
        [*command, f"-I{MODULE}", "-o", str(library), str(HERE / "bag.c"), str(MODULE / "bag.c")], check=True
    )
    loaded = ctypes.CDLL(str(library))
    loaded.bag_fill.restype = ctypes.c_long
    loaded.bag_fill.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long)
    return loaded


@pytest.mark.parametrize("step", [0, 1, 5, 100])
@pytest.mark.parametrize("items", [1, 16, 17, 48, 49, 500])
def test_a_bag_holds_whichever_block_is_refused(bag: ctypes.CDLL, items: int, step: int) -> None:
    asked = bag.bag_fill(items, step, 0)
    assert asked >= (2 if items > 16 else 0)
    for at in range(1, asked + 1):
        found = bag.bag_fill(items, step, at)
        assert found >= at, f"of {asked} blocks number {at} was refused: {found}"
