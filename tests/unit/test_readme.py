"""The README's programs do what it says, on a machine with no server and no settings."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(program: str, home: Path) -> str:
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
    return done.stdout


def test_the_first_job_greets_the_world(tmp_path: Path) -> None:
    assert run(PROGRAMS[0], tmp_path).splitlines()[0] == "hello, world"


def test_the_plain_program_enqueues_what_the_first_one_runs(tmp_path: Path) -> None:
    run(PROGRAMS[1], tmp_path)
    assert run(PROGRAMS[0], tmp_path).splitlines()[0] == "hello, world"


def test_the_only_job_of_a_lane_does_not_wait_for_the_many_of_another(tmp_path: Path) -> None:
    assert run(PROGRAMS[2], tmp_path).splitlines() == ["['big-corp', 'corner-shop']"]


def test_no_program_is_left_out() -> None:
    assert len(PROGRAMS) == 3
