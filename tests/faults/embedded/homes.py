"""Homes and users for the tests of the embedded server."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from echomq.embedded.locks import FileLock
from echomq.embedded.paths import Layout
from echomq.embedded.probe import Health, Link, health

__all__ = ["LINGER_MS", "PATIENCE_S", "Home", "User", "wait_until_free"]

LINGER_MS = 150
PATIENCE_S = 30.0
_USER = Path(__file__).with_name("user.py")


class User:
    """A process that uses the embedded server; it obeys line by line."""

    def __init__(self, home: Path, *, gate: Path | None = None) -> None:
        command = [sys.executable, str(_USER), str(home), str(LINGER_MS), *([str(gate)] if gate else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def hear(self) -> object:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the user ended with {self.process.wait()}"
        heard: object = json.loads(line)
        return heard

    def joined(self) -> dict[str, str]:
        heard = self.hear()
        assert isinstance(heard, dict)
        return heard

    def ask(self, command: str) -> object:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.hear()

    def leave(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0
        self.process.stdout.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Home:
    """A state directory under test."""

    linger_ms = LINGER_MS

    def __init__(self, path: Path) -> None:
        self.path = path
        self.layout = Layout.of_home(path)

    def user(self, *, gate: Path | None = None) -> User:
        return User(self.path, gate=gate)

    def log(self) -> str:
        return self.layout.keeper_log.read_text() if self.layout.keeper_log.exists() else ""

    def keeper_pid(self) -> int:
        return int(re.findall(r" \[(\d+)\] (?:started|took over)", self.log())[-1])

    def server_pid(self) -> int:
        return int(self.layout.pid_file.read_text())

    def call(self, *words: str) -> object:
        with Link.open(self.layout.socket) as link:
            return link.call(*words)

    def wait_until_stopped(self) -> None:
        """Wait until neither a keeper nor a server is left: the kernel says so through their locks."""
        for path in (self.layout.keeper_lock, self.layout.server_lock):
            wait_until_free(path)
        assert health(self.layout.socket) is Health.ABSENT

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while health(self.layout.socket) is not Health.READY:
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.005)  # a server that starts gives no signal to wait for

    def kill_keeper(self) -> None:
        os.kill(self.keeper_pid(), signal.SIGKILL)
        wait_until_free(self.layout.keeper_lock)

    def clean(self) -> None:
        """Fail if a process is left, and end it."""
        if not self.layout.data.exists():
            return
        try:
            self.wait_until_stopped()
        except AssertionError:
            with contextlib.suppress(OSError, IndexError, ValueError):
                os.kill(self.keeper_pid(), signal.SIGKILL)
            with contextlib.suppress(OSError, ValueError):
                os.kill(self.server_pid(), signal.SIGKILL)
            raise
        if self.layout.socket.parent != self.layout.home:
            shutil.rmtree(self.layout.socket.parent)


def wait_until_free(path: Path) -> None:
    if not path.parent.exists():
        return
    lock = FileLock.wait(path, shared=False, deadline=time.monotonic() + PATIENCE_S)
    assert lock is not None, f"{path} is still held"
    lock.close()
