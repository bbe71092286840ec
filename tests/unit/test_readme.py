"""The README's programs do what it says, on a machine with no server and no settings."""

from pathlib import Path

from tests.pages import ROOT, programs_of, run_program

PROGRAMS = programs_of((ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_first_job_greets_the_world(tmp_path: Path) -> None:
    assert run_program(PROGRAMS[0], tmp_path)[0] == "hello, world"


def test_the_plain_program_enqueues_what_the_first_one_runs(tmp_path: Path) -> None:
    run_program(PROGRAMS[1], tmp_path)
    assert run_program(PROGRAMS[0], tmp_path)[0] == "hello, world"


def test_the_only_job_of_a_lane_does_not_wait_for_the_many_of_another(tmp_path: Path) -> None:
    assert run_program(PROGRAMS[2], tmp_path) == ["['big-corp', 'corner-shop']"]


def test_no_program_is_left_out() -> None:
    assert len(PROGRAMS) == 3
