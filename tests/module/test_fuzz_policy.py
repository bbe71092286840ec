"""The module's policy code (numbers, lanes, rota, manners, parking, bags) without a server, under the sanitizers."""

import shutil
import subprocess
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_MODULE = _HERE.parents[1] / "module"
_SOURCES = ("bag", "lanes", "manners", "parking", "parse", "rota")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc, so no sanitizers")
def test_policy_holds_for_random_worlds_under_the_sanitizers(tmp_path: Path) -> None:
    program = tmp_path / "policy"
    command = ["gcc", "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all", "-I", str(_MODULE), "-o", str(program), str(_HERE / "fuzz_policy.c")]
    subprocess.run([*command, *[str(_MODULE / f"{name}.c") for name in _SOURCES]], check=True)
    for seed in range(3):
        done = subprocess.run([program, str(seed), "1500"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"seed {seed}: {done.stderr[-3000:]}"
