"""`echomq server` as a process: its one line, its signals, and who may run beside it."""

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from echomq.cli import server as server_command
from echomq.cli.server import serve
from echomq.embedded import acquire, socket_url
from echomq.embedded.paths import Layout
from echomq.embedded.probe import Link
from tests.faults.embedded.homes import PATIENCE_S, Home, wait_until_free

_PROGRAM = """
import json, sys
from pathlib import Path
from echomq.cli.server import serve
options = json.loads(sys.argv[1])
for name in ("home", "socket", "data_dir"):
    if options.get(name):
        options[name] = Path(options[name])
raise SystemExit(serve(**options))
"""


def _command(**options: object) -> list[str]:
    return [sys.executable, "-c", _PROGRAM, json.dumps(options, default=str)]


class Foreground:
    """A running `echomq server`."""

    def __init__(self, **options: object) -> None:
        self.process = subprocess.Popen(_command(**options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ready(self) -> list[str]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return line.split()

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


@pytest.fixture
def run() -> Iterator[Callable[..., Foreground]]:
    with contextlib.ExitStack() as stack:

        def start(**options: object) -> Foreground:
            foreground = Foreground(**options)
            stack.callback(foreground.process.communicate)
            stack.callback(foreground.process.terminate)
            return foreground

        yield start


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(home: Home, run: Callable[..., Foreground], number: signal.Signals) -> None:
    server = run(home=home.path)
    assert server.ready() == [socket_url(home.layout.socket)]
    home.call("SET", "job", "1")
    code, out, err = server.end(number)
    assert (code, out) == (0, "")
    assert "ready to exit, bye bye" in err, "the server's log goes to standard error"
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("GET", "job") == "1"


def test_it_listens_on_a_port_and_a_socket(home: Home, run: Callable[..., Foreground]) -> None:
    port = _free_port()
    path = home.path.parent / "own.sock"
    server = run(home=home.path, data_dir=home.path.parent / "data", port=port, socket=path)
    assert server.ready() == [socket_url(path), f"valkey://127.0.0.1:{port}"]
    with Link.open(path) as link:
        assert link.call("CONFIG", "GET", "bind") == ["bind", "127.0.0.1"]
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"PING\r\n")
        assert client.recv(100) == b"+PONG\r\n"
    assert server.end(signal.SIGTERM)[0] == 0
    assert not path.exists()


def test_programs_without_an_address_join_it(home: Home, run: Callable[..., Foreground]) -> None:
    server = run(home=home.path)
    server.ready()
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("SET", "job", "1") == "OK"
    assert server.process.poll() is None
    assert server.end(signal.SIGTERM)[0] == 0
    assert not home.layout.keeper_log.exists(), "no keeper was needed"


def test_a_second_one_on_the_same_data_is_refused(home: Home, run: Callable[..., Foreground]) -> None:
    data = home.path.parent / "data"
    first = run(home=home.path, data_dir=data)
    first.ready()
    said = io.StringIO()
    assert serve(home=home.path, data_dir=data, socket=home.path.parent / "other.sock", err=said) == 1
    assert f"a server for {data} runs already" in said.getvalue()
    assert first.end(signal.SIGTERM)[0] == 0


def test_it_is_refused_while_the_embedded_server_runs(home: Home) -> None:
    said = io.StringIO()
    with acquire(home.path, linger_ms=home.linger_ms):
        assert serve(home=home.path, err=said) == 1
    assert "runs already" in said.getvalue()
    assert "other programs use it" in said.getvalue()


def test_it_follows_an_embedded_server_that_nobody_uses_any_more(home: Home, run: Callable[..., Foreground]) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        home.call("SET", "job", "1")
        before = home.server_pid()
    server = run(home=home.path)
    server.ready()
    assert home.server_pid() != before
    assert home.call("GET", "job") == "1"
    assert server.end(signal.SIGTERM)[0] == 0


def test_it_is_refused_beside_another_on_the_same_directory(
    home: Home, run: Callable[..., Foreground], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_command, "_UNUSED_MS", 200)
    first = run(home=home.path)
    first.ready()
    said = io.StringIO()
    assert serve(home=home.path, err=said) == 1
    assert "it is another `echomq server`" in said.getvalue()
    assert first.end(signal.SIGTERM)[0] == 0


def test_a_signal_ends_the_wait_for_another_server(home: Home, run: Callable[..., Foreground]) -> None:
    first = run(home=home.path)
    first.ready()
    second = run(home=home.path)
    assert second.process.stderr is not None
    assert "if nobody uses it" in second.process.stderr.readline()
    assert second.end(signal.SIGINT)[:2] == (0, "")
    assert first.end(signal.SIGTERM)[0] == 0


def test_more_signals_do_not_turn_an_orderly_end_into_another(home: Home, run: Callable[..., Foreground]) -> None:
    server = run(home=home.path)
    server.ready()
    server.process.send_signal(signal.SIGINT)
    while server.process.poll() is None:
        server.process.send_signal(signal.SIGTERM)
    assert server.process.returncode == 0


def test_the_files_of_a_directory_that_others_may_look_into_are_closed_to_them(
    home: Home, run: Callable[..., Foreground]
) -> None:
    data = home.path.parent / "data"
    data.mkdir()
    data.chmod(0o755)
    server = run(home=home.path, data_dir=data)
    server.ready()
    assert {path.name: path.stat().st_mode & 0o077 for path in data.iterdir()} == dict.fromkeys(
        (path.name for path in data.iterdir()), 0
    )
    assert server.end(signal.SIGTERM)[0] == 0


def test_one_that_was_killed_leaves_a_server_that_makes_room(home: Home, run: Callable[..., Foreground]) -> None:
    first = run(home=home.path)
    first.ready()
    home.call("SET", "job", "1")
    left_behind = home.server_pid()
    first.process.kill()
    first.process.wait(PATIENCE_S)
    second = run(home=home.path)
    second.ready()
    assert home.server_pid() != left_behind
    assert home.call("GET", "job") == "1"
    assert second.end(signal.SIGTERM)[0] == 0


def test_the_end_of_the_server_ends_it_with_1(home: Home, run: Callable[..., Foreground]) -> None:
    server = run(home=home.path)
    server.ready()
    os.kill(home.server_pid(), signal.SIGKILL)
    _, err = server.process.communicate(timeout=PATIENCE_S)
    assert server.process.returncode == 1
    assert "ended by itself" in err


def test_a_cut_connection_to_its_server_ends_nothing(home: Home, run: Callable[..., Foreground]) -> None:
    server = run(home=home.path)
    server.ready()
    assert home.call("CLIENT", "KILL", "TYPE", "normal") == 1
    # Its new connection shows that it has noticed.
    with Link.open(home.layout.socket) as link:
        while "connected_clients:2" not in str(link.call("INFO", "clients")):
            assert server.process.poll() is None
    assert server.end(signal.SIGTERM)[0] == 0


def test_it_runs_with_closed_standard_streams(home: Home) -> None:
    process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *_command(home=home.path)])
    home.wait_until_ready()
    assert home.call("SET", "job", "1") == "OK"
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def test_an_address_that_nobody_can_read_changes_nothing(home: Home) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(_command(home=home.path), stdout=writer, stderr=subprocess.DEVNULL)
    os.close(writer)
    home.wait_until_ready()
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def test_a_port_in_use_is_named(home: Home) -> None:
    said = io.StringIO()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert serve(home=home.path, port=taken.getsockname()[1], err=said) == 1
    assert "did not start" in said.getvalue()
    wait_until_free(home.layout.server_lock)


def test_a_file_in_the_place_of_the_socket_is_left_alone(home: Home) -> None:
    precious = home.path.parent / "precious"
    precious.write_text("mine")
    said = io.StringIO()
    assert serve(home=home.path, socket=precious, err=said) == 1
    assert "is a file and no socket" in said.getvalue()
    assert precious.read_text() == "mine"


def test_another_server_on_the_socket_is_left_alone(home: Home) -> None:
    said = io.StringIO()
    with acquire(home.path, linger_ms=home.linger_ms):
        data = home.path.parent / "data"
        assert serve(home=home.path, data_dir=data, socket=home.layout.socket, err=said) == 1
        assert home.call("PING") == "PONG"
    assert "another server listens on" in said.getvalue()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"port": 0}, "port=0 is not possible"),
        ({"port": 65_536}, "port=65536 is not possible"),
        ({"bind": "0.0.0.0"}, "only together with a port"),
        ({"bind": " ", "port": 7000}, "one or more addresses"),
    ],
)
def test_an_impossible_argument_ends_it_with_2(home: Home, options: dict[str, object], sentence: str) -> None:
    said = io.StringIO()
    assert serve(home=home.path, err=said, **options) == 2  # type: ignore[arg-type]  # one table for several types
    assert sentence in said.getvalue()
    assert not home.path.exists()


def test_a_socket_path_that_is_too_long_ends_it_with_1(home: Home) -> None:
    said = io.StringIO()
    assert serve(home=home.path, socket=Path("/" + "s" * 120), err=said) == 1
    assert "longer than 100 bytes" in said.getvalue()


def test_the_data_directory_holds_everything_of_a_server_of_its_own(home: Home, run: Callable[..., Foreground]) -> None:
    data = home.path.parent / "data"
    server = run(home=home.path, data_dir=data)
    assert server.ready() == [socket_url(Layout.of_data_dir(data).socket)]
    assert server.end(signal.SIGTERM)[0] == 0
    assert (data / "appendonlydir").is_dir()
    assert not home.path.exists()
