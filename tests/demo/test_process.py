"""The demo as a process of its own: its exit codes, what it prints, and what it leaves behind when interrupted."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.scene import Tree
from tests.harness.wire import Wire
from tests.servers import RealServer

WAIT_S = 60.0

# The test run may have been started with SIGINT ignored, as a script's background job is, and that is inherited.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from echomq.cli.main import run
run()
"""


@contextlib.contextmanager
def demo(server: RealServer, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", PROGRAM, "demo", "--url", server.url, *arguments]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ECHOMQ_")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: "subprocess.Popen[str]", words: str) -> str:
    """Return what the demo said up to a line with these words."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if words in line:
            return said
    raise AssertionError(f"the demo ended without saying {words!r}:\n{said}")


def demo_keys(server: RealServer) -> list[bytes]:
    with Wire(server.unix_path) as wire:
        keys = wire.ask("KEYS", "emq:{demo-*")
        assert isinstance(keys, list)
        return keys


def wait_for_end(pid: int) -> bool:
    """Wait for the end of a process that is no child of ours; return whether it came."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], WAIT_S)[0])
    finally:
        os.close(handle)


def test_json_is_one_object_on_standard_output_and_talk_goes_to_standard_error(
    real_server: RealServer, tree: Tree
) -> None:
    with demo(real_server, str(tree.directory), "--json") as process:
        out, err = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, err
    figures = json.loads(out)
    assert figures["good"] is True
    assert figures["files"] == figures["results"] == len(tree.files)
    assert figures["killed"] is True
    assert figures["recovered"] >= figures["held"] == figures["held_back"] >= 1
    assert "is killed with SIGKILL" in err
    assert re.search(rf"\d+ of {len(tree.files)} done", err)
    assert [(lane["lane"], lane["files"]) for lane in figures["lanes"][:2]] == [("plain", 300), (None, 11)]
    assert "fairness" in figures
    assert demo_keys(real_server) == []


def test_the_figures_are_sentences_for_a_person(real_server: RealServer, tree: Tree) -> None:
    with demo(real_server, str(tree.directory)) as process:
        out, err = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, err
    assert f"{len(tree.files)} files, {len(tree.files)} results, 0 lost, 0 different." in out
    assert re.search(r"^plain +300 +[\d,]+ ms +[\d,]+ ms$", out, re.MULTILINE)
    assert re.search(r"^\(in no folder\) +11 ", out, re.MULTILINE)
    assert out.endswith("Nothing was lost, and every result is right.\n")


def test_a_limit_cuts_and_says_so(real_server: RealServer, tree: Tree) -> None:
    with demo(real_server, str(tree.directory), "--limit", "20", "--json") as process:
        out, err = process.communicate(timeout=WAIT_S)

    assert process.returncode == 0, err
    assert json.loads(out)["files"] == 20
    assert "There are more" in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("words", ["I have read every file", "Two workers are ready", "is killed with SIGKILL"])
def test_an_interrupted_demo_leaves_no_process_and_no_key(
    real_server: RealServer, tree: Tree, number: signal.Signals, code: int, words: str
) -> None:
    with demo(real_server, str(tree.directory)) as process:
        said = read_until(process, words)
        process.send_signal(number)
        _, rest = process.communicate(timeout=WAIT_S)

    assert process.returncode == code, rest
    assert "Traceback" not in rest
    for pids in re.findall(r"process (\d+)|processes (\d+) and (\d+)", said):
        assert all(wait_for_end(int(pid)) for pid in pids if pid)
    assert demo_keys(real_server) == []


def test_workers_end_by_themselves_when_the_demo_is_killed(real_server: RealServer, tree: Tree) -> None:
    with demo(real_server, str(tree.directory)) as process:
        found = re.search(r"processes (\d+) and (\d+)", read_until(process, "Two workers are ready"))
        assert found is not None
        process.kill()

        assert all(wait_for_end(int(pid)) for pid in found.groups())

    # A demo that was killed cannot clean up: the operator's command does.
    with Wire(real_server.unix_path) as wire:
        for key in demo_keys(real_server):
            wire.ask("DEL", key)


def test_a_directory_that_is_none_is_a_usage_error(real_server: RealServer, tmp_path: Path) -> None:
    with demo(real_server, str(tmp_path / "missing")) as process:
        out, err = process.communicate(timeout=WAIT_S)

    assert (process.returncode, out) == (2, "")
    assert err == f"echomq: {tmp_path / 'missing'} is not a directory that exists: name a directory with files in it\n"
    assert "Traceback" not in err
