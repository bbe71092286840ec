"""The tree of commands: what every command and every flag must have, and the real process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import typer

from echomq.cli import main
from echomq.cli._tree import app
from tests.servers import RealServer


def run(*arguments: str, url: str | None = None, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ECHOMQ_")}
    if url is not None:
        environ["ECHOMQ_URL"] = url
    return subprocess.run(
        [sys.executable, "-m", "echomq.cli.main", *arguments],
        input=stdin,
        capture_output=True,
        env=environ,
        timeout=60,
        check=False,
    )


def leaves() -> Iterator[tuple[str, object]]:
    """Each command with its path. The classes are Typer's own and differ between its versions."""

    def walk(path: str, command: object) -> Iterator[tuple[str, object]]:
        inner = getattr(command, "commands", None)
        if inner:
            for name, each in inner.items():
                yield from walk(f"{path} {name}", each)
        else:
            yield path, command

    return walk("echomq", typer.main.get_command(app))


COMMANDS = dict(leaves())


def test_every_command_is_known_here() -> None:
    assert set(COMMANDS) == {
        "echomq demo",
        "echomq doctor",
        "echomq server",
        "echomq version",
        "echomq module path",
        *(
            f"echomq queue {verb}"
            for verb in ("list", "counts", "pause", "resume", "concurrency", "drain", "obliterate")
        ),
        *(f"echomq job {verb}" for verb in ("add", "show", "state", "logs", "list", "remove", "retry")),
        *(f"echomq lane {verb}" for verb in ("list", "show", "pause", "resume", "limit", "weight", "move", "drain")),
    }


@pytest.mark.parametrize("path", COMMANDS)
def test_each_help_ends_with_two_examples_of_the_command(path: str) -> None:
    lines = str(getattr(COMMANDS[path], "epilog", "")).splitlines()

    assert lines[:2] == ["\b", "Examples:"]
    assert len(lines) == 4
    assert all(line.strip().startswith(path) for line in lines[2:])


@pytest.mark.parametrize("path", COMMANDS)
def test_each_flag_has_an_environment_variable(path: str) -> None:
    for parameter in getattr(COMMANDS[path], "params", ()):
        if any(option.startswith("--") for option in parameter.opts) and "--help" not in parameter.opts:
            assert str(parameter.envvar).startswith("ECHOMQ_"), parameter.opts


@pytest.mark.parametrize("path", [path for path in COMMANDS if path != "echomq server"])
def test_each_command_with_data_can_write_json(path: str) -> None:
    assert any("--json" in parameter.opts for parameter in getattr(COMMANDS[path], "params", ()))


@pytest.mark.parametrize(
    ("missing", "words"),
    [(("rich",), "rich is not installed"), (("typer", "rich"), "typer and rich are not installed")],
)
def test_a_missing_extra_is_one_clear_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: tuple[str, ...], words: str
) -> None:
    monkeypatch.setattr(main, "find_spec", lambda name: None if name in missing else object())

    with pytest.raises(SystemExit) as ended:
        main.run()

    assert ended.value.code == 1
    assert f'{words}: run  pip install "echomq[cli]"' in capsys.readouterr().err


def test_the_worker_of_the_demo_needs_no_extra() -> None:
    # It is started for each run, and a program may use it where only the core is installed.
    code = "import sys, echomq.demo.worker; sys.exit(bool({'typer', 'rich'} & set(sys.modules)))"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_version_needs_no_server() -> None:
    done = run("version", "--json", url="unix:///nowhere/at/all")

    assert done.returncode == 0
    assert json.loads(done.stdout)["echomq"]


@pytest.mark.parametrize("program", [["-m", "echomq"], ["-m", "echomq.cli.main"]])
def test_the_version_on_one_line(program: list[str]) -> None:
    done = subprocess.run([sys.executable, *program, "--version"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"echomq {metadata.version('echomq')}\n", "")


def test_the_versions_of_all_that_is_installed_are_told() -> None:
    found = json.loads(run("version", "--json").stdout)

    for name in ("hiredis", "msgspec", "typer", "rich"):
        assert found[name] == metadata.version(name)


def test_the_doctor_looks_at_a_real_server(real_server: RealServer) -> None:
    looked = run("doctor", "--queue", "mail", url=real_server.url)

    assert looked.returncode == 1, looked.stderr
    assert b"problem  persistence    The server keeps nothing on disk" in looked.stdout
    assert looked.stderr.startswith(b"echomq: 1 problem, ")
    assert run("doctor", "--queue", "no queue", url=real_server.url).returncode == 2
    assert run("doctor", "--url", "https://x").returncode == 2


def test_a_job_goes_in_and_is_found_again(real_server: RealServer) -> None:
    url = real_server.url
    added = run("job", "add", "clitest", "-", "--json", stdin=b"\xff\x00", url=url)
    assert added.returncode == 0, added.stderr
    job = json.loads(added.stdout)["job"]

    shown = run("job", "show", "clitest", job, "--json", url=url)
    assert json.loads(shown.stdout)["payload_base64"] == "/wA="
    long = json.loads(
        run("job", "add", "clitest", "-", "--delay-ms", "60000", "--json", stdin=b"y" * 500, url=url).stdout
    )
    piped = run("job", "show", "clitest", long["job"], url=url).stdout
    assert b"y" * 500 + b"\n" in piped, "cut for a terminal only"
    assert b"due at" in piped
    listed = json.loads(run("job", "list", "clitest", "scheduled", "--json", url=url).stdout)["jobs"]
    assert [(row["job"], row["lane"]) for row in listed] == [(long["job"], None)]
    refused = run("queue", "obliterate", "clitest", url=url)
    assert (refused.returncode, refused.stdout) == (4, b"")
    done = run("queue", "obliterate", "clitest", "--yes", url=url)
    assert done.returncode == 0, done.stderr
    gone = run("job", "show", "clitest", job, url=url)
    assert (gone.returncode, gone.stdout) == (3, b"")


def test_lanes_on_a_real_server(real_server: RealServer) -> None:
    url = real_server.url
    assert run("job", "add", "clilanes", "x", "--lane", "acme", url=url).returncode == 0
    added = run("job", "add", "clilanes", "x", "--lane", "zoo", "--json", url=url)
    assert added.returncode == 0, added.stderr
    job = json.loads(added.stdout)["job"]

    assert run("lane", "limit", "clilanes", "acme", "3", url=url).returncode == 0
    assert run("lane", "weight", "clilanes", "acme", "2", url=url).returncode == 0
    assert run("lane", "pause", "clilanes", "acme", url=url).returncode == 0
    moved = run("lane", "move", "clilanes", job, "acme", "--json", url=url)
    assert json.loads(moved.stdout)["moved"] is True, moved.stderr
    listed = json.loads(run("lane", "list", "clilanes", "--json", url=url).stdout)["lanes"]
    assert [(row["lane"], row["waiting"], row["limit"], row["weight"], row["paused"]) for row in listed] == [
        ("acme", 2, 3, 2, True)
    ]
    assert b"did you mean acme?" in run("lane", "show", "clilanes", "acem", url=url).stderr
    waiting = json.loads(run("job", "list", "clilanes", "--lane", "acme", "--json", url=url).stdout)
    assert (waiting["lane"], len(waiting["jobs"])) == ("acme", 2)
    counted = json.loads(run("queue", "counts", "clilanes", "--json", url=url).stdout)
    assert (counted["lanes"], counted["waiting_in_lanes"], counted["concurrency"]) == (1, 2, None)
    paused = run("queue", "pause", "clilanes", "--json", url=url)
    assert json.loads(paused.stdout)["waiting"] == 2, paused.stderr
    assert b"the queue is paused: nothing starts" in run("lane", "show", "clilanes", "acme", url=url).stderr
    sorted_ = run("lane", "list", "clilanes", "--sort", "depth", "--paused", "--limited", url=url)
    assert (b"acme" in sorted_.stdout, sorted_.stderr) == (
        True,
        b"echomq: in all 1 lane has jobs, and 2 jobs wait in lanes\n",
    )
    refused = run("lane", "drain", "clilanes", "acme", url=url)
    assert (refused.returncode, refused.stdout) == (4, b"")
    drained = run("lane", "drain", "clilanes", "acme", "--yes", "--json", url=url)
    assert json.loads(drained.stdout)["drained"] == 2, drained.stderr

    run("queue", "obliterate", "clilanes", "--yes", url=url)


def test_a_mistyped_queue_on_a_real_server(real_server: RealServer) -> None:
    url = real_server.url
    run("job", "add", "clinames", "x", url=url)

    told = run("queue", "counts", "clinmaes", url=url).stderr.decode()
    assert "did you mean clinames?" in told
    assert f"there is nothing in clinmaes on {url}" in told
    assert b"did you mean clinames?" in run("job", "list", "clinmaes", url=url).stderr
    assert b"clinames" in run("queue", "list", url=url).stdout

    run("queue", "obliterate", "clinames", "--yes", url=url)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("queue", "counts", "a{b}"), 2, b"is not a valid queue name"),
        (("job", "show", "mail", "JOB1"), 2, b"is not a valid id"),
        (("job", "retry", "mail"), 2, b"give either the ID of a job or --all"),
        (("job", "list", "mail", "daed"), 2, b"did you mean dead?"),
        (("job", "list", "mail", "dead", "--lane", "acme"), 2, b"pending only"),
        (("job", "list", "mail", "completed"), 2, b"a completed job is deleted"),
        (("queue", "burn", "mail"), 2, b"No such command"),
        (("lane", "pause", "mail", "a b"), 2, b"is not a valid lane name"),
        (("lane", "limit", "mail", "acme", "many"), 2, b"none, or a whole number"),
        (("lane", "limit", "mail", "acme", "0"), 2, b"cannot be 0"),
        (("queue", "concurrency", "mail", "0"), 2, b"cannot be 0"),
        (("job", "add", "mail", "x", "--lane", "{x}"), 2, b"is not a valid lane name"),
    ],
)
def test_mistakes_are_sentences_and_code_2(
    real_server: RealServer, arguments: tuple[str, ...], code: int, words: bytes
) -> None:
    done = run(*arguments, url=real_server.url)

    assert (done.returncode, done.stdout) == (code, b"")
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_server_that_is_not_there_is_a_sentence_and_code_1() -> None:
    done = run("queue", "counts", "mail", url="unix:///nowhere/at/all")

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"echomq: ")
    assert b"Traceback" not in done.stderr


def test_a_reader_that_left_is_no_traceback() -> None:
    command = [sys.executable, "-m", "echomq.cli.main", "version"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert done.returncode == 141
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("arguments", [("version",), ("version", "--json"), ("--version",), ("--help",)])
def test_output_that_cannot_be_written_is_a_sentence_and_a_code_of_its_own(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "echomq.cli.main", *arguments]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 5
    assert done.stderr == (
        "echomq: the output could not be written (No space left on device); the command itself was carried out\n"
    )


def test_a_closed_output_is_no_traceback() -> None:
    command = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", sys.executable, "-m", "echomq.cli.main", "version"]

    assert subprocess.run(command, check=False).returncode == 0
