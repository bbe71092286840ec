"""The demo as a whole, on a real server, with real processes and a real SIGKILL."""

import os
import re
import sys
from pathlib import Path

import pytest

from echomq.demo.handler import facts_of
from echomq.demo.play import DemoOptions, play
from echomq.demo.report import Figures
from echomq.errors import DemoFailed, NoFiles
from tests.demo.scene import Recorder, Tree
from tests.harness.wire import Wire
from tests.servers import RealServer

WRONG_WORKER = """
import sys
from echomq.demo import handler
right = handler.facts_of
def wrong(path):
    facts = right(path)
    return handler.FileFacts(facts.size_bytes, facts.lines + 1, facts.sha256) if path.endswith(b"/007.txt") else facts
handler.facts_of = wrong
from echomq.demo.worker import main
sys.exit(main())
"""

MISSING_WORKER = """
import sys
from echomq.demo import handler
right = handler.FileReader.handle
def failing(self, run):
    if b"/007.txt" in run.payload:
        raise RuntimeError("no such luck")
    return right(self, run)
handler.FileReader.handle = failing
from echomq.demo import worker
usual = worker.WorkerOptions
worker.WorkerOptions = lambda **given: usual(**{**given, "max_attempts": 1})
sys.exit(worker.main())
"""


def no_demo_keys(server: RealServer) -> bool:
    with Wire(server.unix_path) as wire:
        return wire.ask("KEYS", "emq:{demo-*") == []


def processes(show: Recorder) -> set[int]:
    """The worker processes that the demo spoke of."""
    found = re.findall(r"process (\d+)|processes (\d+) and (\d+)", " ".join(show.said))
    return {int(pid) for pids in found for pid in pids if pid}


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def play_on(server: RealServer, tree: Path, show: Recorder, *program: str) -> Figures:
    command = (sys.executable, *(program or ("-m", "echomq.demo.worker")))
    return play(server.url, DemoOptions(directory=tree, worker_command=command), show)


def test_no_result_is_lost_when_a_worker_is_killed_with_jobs_in_its_hands(
    real_server: RealServer, tree: Tree, recorder: Recorder
) -> None:
    figures = play_on(real_server, tree.directory, recorder)

    assert figures.files == figures.results == len(tree.files)
    assert figures.size_bytes == sum(facts_of(path).size_bytes for path in tree.files)
    assert (figures.lost, figures.failed, figures.different, figures.changed) == (0, 0, 0, 0)
    assert figures.problems == ()
    assert figures.is_good
    assert figures.killed
    assert 0 < figures.killed_at < figures.files
    assert 1 <= figures.held == figures.held_back <= figures.recovered
    assert figures.jobs_per_s is not None
    assert figures.jobs_per_s > 0
    assert figures.start_p50_ms is not None
    assert figures.start_p99_ms is not None
    assert 0 <= figures.start_p50_ms <= figures.start_p99_ms
    assert figures.total_s >= figures.run_s > 0
    assert any("is killed with SIGKILL while it holds" in sentence for sentence in recorder.said)
    assert recorder.moments[-1].done == recorder.moments[-1].total == figures.files
    assert no_demo_keys(real_server)
    assert len(processes(recorder)) == 3
    assert not [pid for pid in processes(recorder) if is_there(pid)]


def test_each_folder_has_a_lane_and_a_small_one_does_not_wait_for_the_large_one(
    real_server: RealServer, tree: Tree, recorder: Recorder
) -> None:
    figures = play_on(real_server, tree.directory, recorder)

    large, loose, *small = figures.lanes
    assert (large.lane, large.files) == ("plain", 300)
    assert (loose.lane, loose.folder, loose.files) == (None, None, 11)
    assert {(lane.folder, lane.files) for lane in small} == {("deep", 1), ("no {lane}: \\udcff", 1)}
    assert sum(lane.files for lane in figures.lanes) == figures.files
    assert large.start_p50_ms is not None
    # The large lane was in the queue before them, and ends after them all the same.
    assert all(lane.start_p99_ms < large.start_p50_ms for lane in small if lane.start_p99_ms is not None)


def test_folders_of_one_size_have_equal_shares(real_server: RealServer, tmp_path: Path, recorder: Recorder) -> None:
    for folder in "abcd":
        (tmp_path / folder).mkdir()
        for number in range(150):
            (tmp_path / folder / f"{number}").write_bytes(b"line\n")

    figures = play_on(real_server, tmp_path, recorder)

    assert figures.is_good
    assert figures.fairness is not None
    # Enqueued one after the other, a queue without lanes would give one folder all the starts of a window: 0.25.
    assert figures.fairness.median > 0.9


def test_even_a_single_file_has_a_middle_to_be_killed_in(
    real_server: RealServer, tmp_path: Path, recorder: Recorder
) -> None:
    (tmp_path / "only").write_bytes(b"one\n")

    figures = play_on(real_server, tmp_path, recorder)

    assert (figures.files, figures.results, figures.held, figures.held_back, figures.recovered) == (1, 1, 1, 1, 1)
    assert figures.is_good


def test_a_wrong_result_is_found(real_server: RealServer, tree: Tree, recorder: Recorder) -> None:
    figures = play_on(real_server, tree.directory, recorder, "-c", WRONG_WORKER)

    assert (figures.results, figures.lost, figures.different) == (len(tree.files), 0, 1)
    assert [(problem.kind, Path(problem.path).name) for problem in figures.problems] == [("different", "007.txt")]
    assert "8 lines" in figures.problems[0].reason
    assert "7 lines" in figures.problems[0].reason
    assert not figures.is_good
    assert no_demo_keys(real_server)


def test_a_job_that_dies_is_found(real_server: RealServer, tree: Tree, recorder: Recorder) -> None:
    figures = play_on(real_server, tree.directory, recorder, "-c", MISSING_WORKER)

    # With one attempt each, the jobs of the killed worker die too: their attempt is spent.
    assert figures.results == len(tree.files) - figures.failed
    assert figures.failed >= 2
    assert "007.txt" in {Path(problem.path).name for problem in figures.problems}
    assert not figures.is_good
    assert no_demo_keys(real_server)


def test_a_worker_that_cannot_run_is_told_with_what_it_said(
    real_server: RealServer, tree: Tree, recorder: Recorder
) -> None:
    with pytest.raises(DemoFailed, match="worker 1 of the demo ended at once; it said:\nno way"):
        play_on(real_server, tree.directory, recorder, "-c", "import sys; sys.exit('no way')")
    assert no_demo_keys(real_server)


def test_a_worker_that_ends_by_itself_ends_the_demo(real_server: RealServer, tree: Tree, recorder: Recorder) -> None:
    program = "import sys; print('ready', flush=True); sys.stdin.readline(); sys.exit(3)"

    with pytest.raises(DemoFailed, match=r"ended by itself \(exit status 3\)"):
        play_on(real_server, tree.directory, recorder, "-c", program)
    assert no_demo_keys(real_server)


@pytest.mark.parametrize("empty", [True, False])
def test_a_directory_without_files_is_refused_before_anything_starts(
    tmp_path: Path, recorder: Recorder, *, empty: bool
) -> None:
    directory = tmp_path if empty else tmp_path / "missing"

    with pytest.raises(NoFiles, match="directory"):
        play("unix:///nowhere", DemoOptions(directory=directory), recorder)
