"""The application object under loops, threads, forks, cancellations and mistakes."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from echomq import ConnectionOptions, EchoMQ, Enqueued, connect, connect_blocking
from echomq.errors import Closed, Disconnected, InvalidOption, VersionFence
from tests.servers import RealServer, valkey_server


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with valkey_server() as started:
        yield started


def test_one_loop_after_the_other_leaves_no_connection_and_no_warning(server: RealServer) -> None:
    """Frameworks that call asynchronous code from plain code run a loop for each call."""
    program = (
        "import asyncio, logging, os, sys\n"
        "from echomq import EchoMQ\n"
        "logging.getLogger('asyncio').setLevel(logging.ERROR)\n"  # a turn may be slow on a busy machine
        "app = EchoMQ(sys.argv[1])\n"
        "jobs = app.jobs('loops')\n"
        "async def once(): await jobs.enqueue(b'x')\n"
        "asyncio.run(once())\n"
        "files = len(os.listdir('/proc/self/fd'))\n"
        "for _ in range(20): asyncio.run(once())\n"
        "assert len(os.listdir('/proc/self/fd')) == files, os.listdir('/proc/self/fd')\n"
    )
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program, server.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_loops_of_several_threads_use_one_application_side_by_side(server: RealServer) -> None:
    app = EchoMQ(server.url)
    answers: list[object] = []

    async def enqueue() -> None:
        answers.extend(await asyncio.gather(*(app.jobs("threads").enqueue(b"x") for _ in range(50))))

    threads = [threading.Thread(target=lambda: asyncio.run(enqueue())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(answer) for answer in answers] == [Enqueued] * 200
    app.close()


async def test_a_closed_application_says_so_on_both_faces(server: RealServer) -> None:
    app = await connect(server.url)
    jobs, blocking = app.jobs("closed"), app.blocking_jobs("closed")
    await jobs.enqueue(b"x")
    await app.aclose()
    await app.aclose()
    with pytest.raises(Closed, match="make a new one"):
        await jobs.enqueue(b"x")
    with pytest.raises(Closed, match="make a new one"):
        blocking.enqueue(b"x")


async def test_closing_from_plain_code_closes_the_other_face_too(server: RealServer) -> None:
    app = EchoMQ(server.url)
    jobs = app.jobs("closed")
    await jobs.enqueue(b"x")
    await asyncio.to_thread(app.close)
    with pytest.raises(Closed, match="make a new one"):
        await jobs.enqueue(b"x")


def test_an_address_comes_from_the_call_the_options_or_the_environment(server: RealServer) -> None:
    options = ConnectionOptions(url=server.url)
    with EchoMQ(connection=options) as app:
        assert app.blocking_jobs("q").counts()["pending"] == 0
    with EchoMQ(environ={"ECHOMQ_URL": server.url}) as app:
        assert app.blocking_jobs("q").counts()["pending"] == 0
    with connect_blocking(server.url) as app:
        assert app.blocking_jobs("q").counts()["pending"] == 0
    with pytest.raises(InvalidOption, match="one address"):
        EchoMQ(server.url, connection=options)


def test_opening_raises_at_once_what_prevents_it(tmp_path: Path) -> None:
    with pytest.raises(Disconnected), EchoMQ(f"unix://{tmp_path}/nobody.sock"):
        pass


def test_an_open_that_is_refused_gives_up_its_share_of_the_embedded_server(tmp_path: Path) -> None:
    with EchoMQ(home=tmp_path, environ={}) as app:
        assert app.blocking_jobs("q").counts()["pending"] == 0
        other = ConnectionOptions(version="echomq:9.0.0", accepted_versions=("echomq:9.*",))
        with pytest.raises(VersionFence), EchoMQ(connection=other, home=tmp_path, environ={}):
            pass
    assert _nobody_shares(tmp_path)


async def test_an_open_that_is_cancelled_gives_up_its_share_of_the_embedded_server(tmp_path: Path) -> None:
    async with EchoMQ(home=tmp_path, environ={}) as app:  # the server runs, so that joining is quick
        assert (await app.jobs("q").counts())["pending"] == 0
        for _ in range(20):
            opening = asyncio.ensure_future(EchoMQ(home=tmp_path, environ={}).__aenter__())
            await asyncio.sleep(0)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
    assert _nobody_shares(tmp_path)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_uses_the_application_with_connections_of_its_own(server: RealServer) -> None:
    with EchoMQ(server.url) as app:
        jobs = app.blocking_jobs("forks")
        jobs.enqueue(b"parent")
        children = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    answers = [jobs.enqueue(b"child") for _ in range(1000)]
                    status = int(not all(jobs.get_job(answer.job) for answer in answers))
                finally:
                    os._exit(status)
            children.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
        assert jobs.counts()["pending"] == 4001


def _nobody_shares(home: Path) -> bool:
    """Whether this process holds no file of the home open, so that the server may stop."""
    held = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return not any(path.is_relative_to(home) for path in held)


@pytest.mark.parametrize("node", ["1", 1.5, True, -1, 1024])
def test_a_node_that_cannot_be_is_refused_where_it_is_given(node: int) -> None:
    with pytest.raises(InvalidOption, match="node"):
        EchoMQ("unix:///nowhere", node=node)


def test_a_wait_longer_than_a_week_is_refused() -> None:
    with pytest.raises(InvalidOption, match="connect_timeout_ms"):
        ConnectionOptions(connect_timeout_ms=10**15)


@pytest.mark.parametrize("url", ["", "http://x", "localhost:6379", "valkey://x/abc", 5, b"valkey://x"])
def test_an_address_that_cannot_be_is_refused_where_it_is_given(url: str) -> None:
    with pytest.raises(InvalidOption):
        EchoMQ(url)


def test_a_lone_program_gets_its_embedded_server_back_after_keeper_and_server_were_killed(tmp_path: Path) -> None:
    quick = ConnectionOptions(reply_timeout_ms=500, reconnect_last_ms=100)
    with EchoMQ(connection=quick, home=tmp_path, environ={}) as app:
        jobs = app.blocking_jobs("q")
        jobs.enqueue(b"before")
        with app.new_blocking_client() as client:
            assert client.command("WAITAOF", 1, 0, 5000) == [1, 0]
        _kill_everybody(tmp_path)
        assert isinstance(jobs.enqueue(b"after"), Enqueued)
        assert jobs.counts()["pending"] == 2


def _kill_everybody(home: Path) -> None:
    """Kill the keeper, then the server, of a home."""
    for command in (b"echomq.embedded.keeper", b"valkey-server"):
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                line = (process / "cmdline").read_bytes()
                if command in line and (os.fsencode(home) in line or _works_in(process, home)):
                    os.kill(int(process.name), signal.SIGKILL)
                    _wait_for_the_end(process)


def _works_in(process: Path, home: Path) -> bool:
    return (process / "cwd").readlink().is_relative_to(home)


def _wait_for_the_end(process: Path) -> None:
    """Wait until a process has let go of its sockets: a dead leader's threads may hold them a moment longer."""
    deadline = time.monotonic() + 10
    while not _has_ended(process):
        assert time.monotonic() < deadline
        time.sleep(0.005)  # the end of a process that is no child of ours gives no signal


def _has_ended(process: Path) -> bool:
    try:
        return b") Z " in (process / "stat").read_bytes() and len(list((process / "task").iterdir())) == 1
    except OSError:
        return True
