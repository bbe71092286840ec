"""The fuzzer's servers: one under the sanitizers that has the module, and a plain one that follows it."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from tests.harness.wire import Wire
from tests.servers import server_binary

__all__ = ["fuzz_server", "wait_for_link"]


def _preloaded(directory: Path) -> str:
    """Return what a server must have loaded first that loads a sanitized module."""
    shim, source = directory / "shallow.so", Path(__file__).with_name("fuzz_shallow.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"], check=True)
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    return f"{shim}:{asan.stdout.strip()}"


@contextmanager
def fuzz_server(
    directory: Path, *arguments: str, sanitized: bool, starve_one_in: int = 0
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a server. Yields its socket and its process; what it says is in the files `spoken` and `log` there."""
    directory.mkdir(parents=True)
    path = str(directory / "s.sock")
    env = {"PATH": "/usr/bin:/bin", "EMQ_STARVE_ONE_IN": str(starve_one_in)}
    if sanitized:
        # Freed memory is filled, so that the server, which is not instrumented, falls over it too.
        env["ASAN_OPTIONS"] = (
            "detect_leaks=0:abort_on_error=1:max_free_fill_size=65536:free_fill_byte=253:handle_segv=0:verify_asan_link_order=0"
        )
        env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1:abort_on_error=1"
        env["LD_PRELOAD"] = _preloaded(directory)
    command = [server_binary(), "--unixsocket", path, "--dir", str(directory), "--logfile", str(directory / "log")]
    command += [
        "--crash-memcheck-enabled",
        "no",
        "--save",
        "",
        "--appendonly",
        "no",
        "--enable-debug-command",
        "yes",
        "--bind",
        "127.0.0.1",
        *arguments,
    ]
    with (directory / "spoken").open("wb") as spoken:
        process = subprocess.Popen(command, env=env, stdout=spoken, stderr=spoken)
    try:
        for _ in range(2000):
            try:
                Wire(path).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError((directory / "spoken").read_text() + (directory / "log").read_text()) from None
                time.sleep(0.01)  # a server that starts gives no signal to wait for
        else:
            raise RuntimeError("the server does not listen")
        yield path, process
    finally:
        process.kill()
        process.wait()


def wait_for_link(replica: Wire) -> None:
    """Return once the replica follows."""
    for _ in range(2000):
        if b"master_link_status:up" in cast("bytes", replica.ask("INFO", "replication")):
            return
        time.sleep(0.01)  # a replica that catches up gives no signal to wait for
    raise RuntimeError("the replica does not follow")
