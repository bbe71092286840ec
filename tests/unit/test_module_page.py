"""The page docs/module.md: its lines are run, its list is the module's own, and what it promises is shown."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from echomq import EchoMQ, Run, Worker
from echomq.carriers.carrier import NewCarrier
from echomq.carriers.lua import LuaCarrier
from echomq.carriers.module import COMMANDS, ModuleCarrier
from echomq.doctor.carrier import COST
from echomq.drivers.blocking import BlockingClient
from echomq.embedded.module import module_path
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Claimed, Completed
from echomq.resp.reply import ErrorReply
from echomq.transitions._bodies import body_of
from echomq.transitions.claim import TRANSITION as CLAIM
from echomq.transitions.claim import claim
from echomq.transitions.complete import complete
from echomq.transitions.enqueue import enqueue
from tests.contract.test_rights import rights as documented
from tests.faults.worker.scene import eventually, quick, serving
from tests.harness.jobs import J1
from tests.harness.wire import Wire
from tests.pages import ROOT, environment, page
from tests.servers import RealServer, built_module, valkey_server
from tools import module_page

PAGE = page("docs/module.md")
SO = "/usr/lib/valkey/emq.so"

pytestmark = pytest.mark.skipif(built_module() is None, reason="no C compiler, so there is no module")


def module() -> str:
    path = built_module()
    assert path is not None
    return path


def blocks(language: str, section: str) -> list[str]:
    """Return the blocks of one language in a section."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    assert text, section
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def play(wire: Wire, block: str) -> None:
    """Send what stands behind each `> ` and hold the reply to what stands below; `…` is any text."""
    for command, promised in re.findall(r"^> (.*)\n((?:(?!> ).*\n)*)", block, re.MULTILINE):
        reply = wire.ask(*command.replace(SO, module()).split())
        assert isinstance(reply, bytes), (command, reply)
        for line in promised.splitlines():
            pattern = re.escape(line).replace("…", ".*")
            assert re.search(rf"^{pattern}\r?$", reply.decode(), re.MULTILINE), (command, line, reply)


def run(line: str, home: Path, url: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a line of the page as a shell does."""
    words = line.replace("echomq ", f"{sys.executable} -W error -m echomq ", 1).split()
    environ = environment(home) | ({} if url is None else {"ECHOMQ_URL": url})
    return subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)


def conf(directory: Path) -> Path:
    """Write the lines for valkey.conf to a file."""
    (lines,) = blocks("conf", "Load it")
    path = directory / "emq.conf"
    path.write_text(lines.replace(SO, module()), encoding="utf-8")
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    """A server with the lines of the page in its settings."""
    with valkey_server("--include", str(conf(tmp_path)), persistent=True) as server:
        yield server


@pytest.fixture
def wire(server: RealServer) -> Iterator[Wire]:
    with Wire(server.unix_path) as wire:
        yield wire


def served_calls(wire: Wire) -> list[str]:
    stats = wire.ask("INFO", "commandstats")
    assert isinstance(stats, bytes)
    return re.findall(r"cmdstat_EMQ\.(\w+):calls=", stats.decode(), re.IGNORECASE)


# ---- what is written by a tool ---------------------------------------------------------------------------------------


def test_the_list_and_the_line_of_rights_are_those_of_the_module() -> None:
    assert module_page.with_commands(PAGE) == PAGE


def test_the_list_has_exactly_the_commands_there_are() -> None:
    commands = module_page.commands_of((ROOT / "module" / "emq.c").read_text(encoding="utf-8"))

    assert {name.removeprefix("EMQ.").lower() for name in commands} == COMMANDS
    assert len(COMMANDS) == 18
    assert "**Eighteen steps**" in PAGE


def test_the_server_tells_the_keys_and_arguments_of_the_list(wire: Wire) -> None:
    for usage in re.findall(r"^\| `(EMQ\..*?)` \|", PAGE, re.MULTILINE):
        name, *words = re.sub(r"[\[\]{}]|BLOCK ", "", usage).split()
        docs = wire.ask("COMMAND", "DOCS", name)
        assert isinstance(docs, list)
        told = dict(zip(docs[1][::2], docs[1][1::2], strict=True))
        assert [argument[1].decode() for argument in told[b"arguments"]] == words


def figures(name: str) -> list[tuple[str, list[float]]]:
    """Return the rows of a table of figures: the first cell, and the numbers."""
    found = re.search(rf"<!-- {name}: .*?-->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    assert found is not None
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in found[1].strip().splitlines()[2:]]
    return [(first, [float(cell) for cell in cells]) for first, *cells in rows]


def test_each_step_of_the_page_has_its_figures_and_the_doctor_says_the_same() -> None:
    found = figures("steps")

    assert [(name, size) for name, (size, *_) in found] == list(module_page.SHOWN)
    assert all(times == pytest.approx(script / module, abs=0.3) for _, (_, script, module, times) in found)
    assert COST == "two to seven times as much of its time"
    assert all(1.5 <= times < 7.5 for _, (_, _, _, times) in found)


def test_the_figures_name_the_four_servers_and_what_made_them() -> None:
    assert [name for name, _ in figures("lives")] == ["flat", "100 lanes", "append-only file", "one replica"]
    assert len(figures("waits")) == 3
    for command in ("bench/transitions.py", "bench/waking.py", "tools/module_page.py --figures"):
        assert f"python {command}" in PAGE
        assert (ROOT / command.split()[0]).is_file()


def test_the_tool_reads_what_the_bench_prints() -> None:
    printed = """
µs a job: flat                    script   module   ratio   all told   script   module
enqueue         1 a call            4.39     1.70    0.39                5.52     2.55
take            100 a call          3.51     1.66    0.47                3.70     1.83

µs a job: 100 lanes               script   module   ratio   all told   script   module
take            100 a call         10.69     3.86    0.36               10.94     4.09
"""
    assert module_page.costs_of(printed) == {
        "flat": {("enqueue", 1): (4.39, 1.7, 5.52, 2.55), ("take", 100): (3.51, 1.66, 3.7, 1.83)},
        "100 lanes": {("take", 100): (10.69, 3.86, 10.94, 4.09)},
    }


# ---- what is run -----------------------------------------------------------------------------------------------------


def test_the_path_is_told_and_the_module_is_built_by_hand(tmp_path: Path) -> None:
    asked, built = blocks("shell", "Get it")
    done = run(asked.splitlines()[0].removeprefix("$ "), tmp_path)

    if module_path() is None:
        assert done.returncode == 3
    else:
        assert (done.returncode, done.stdout) == (0, f"{module_path()}\n")
    assert built == "$ make -C module\n"
    assert (ROOT / "module" / "emq.so").is_file(), "make ran for the tests"
    assert run(built.removeprefix("$ "), tmp_path).returncode == 0


def test_the_lines_of_the_settings_load_it(wire: Wire) -> None:
    modules = wire.ask("MODULE", "LIST")
    assert isinstance(modules, list)
    assert b"echomq" in [name for told in modules for name in told]


def test_it_is_loaded_at_once_and_seen_by_who_connects_afterwards(keys: QueueKeys) -> None:
    with valkey_server("--enable-module-command", "local") as server, Wire(server.unix_path) as wire:
        with BlockingClient(ConnectionOptions(url=server.url)) as before:
            before.command("PING")
            for block in blocks("valkey-cli", "Load it"):
                play(wire, block)
            before.run(enqueue(keys, J1, b"x"))
            assert served_calls(wire) == []
        with BlockingClient(ConnectionOptions(url=server.url)) as after:
            after.run(enqueue(keys, J1, b"x"))
        assert served_calls(wire) == ["ENQUEUE"]


def test_it_is_seen_that_the_module_is_used(server: RealServer, wire: Wire, keys: QueueKeys, tmp_path: Path) -> None:
    with BlockingClient(ConnectionOptions(url=server.url)) as client:
        client.run(enqueue(keys, J1, b"x"))
    (counted,) = blocks("valkey-cli", "See that it is used")
    play(wire, counted)

    (block,) = blocks("shell", "See that it is used")
    command, *promised = block.splitlines()
    said = run(command.removeprefix("$ "), tmp_path, server.url).stdout.splitlines()
    assert promised
    assert [line for line in promised if " ".join(line.split()) not in [" ".join(each.split()) for each in said]] == []


def test_the_line_of_rights_lets_a_user_use_all_commands(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    (line,) = blocks("", "Rights")
    words = line.split()
    assert wire.ask("ACL", "SETUSER", "app", "reset", *documented()[1:]) == b"OK"
    with BlockingClient(ConnectionOptions(url=f"unix://app:secret@{server.unix_path}")) as client:
        client.run(enqueue(keys, J1, b"x"))
    assert set(served_calls(wire)) <= {"ENQUEUE"}
    wire.ask("CONFIG", "RESETSTAT")

    assert wire.ask(*words) == b"OK"
    with EchoMQ(f"unix://app:secret@{server.unix_path}") as app:
        jobs = app.blocking_jobs(keys.queue)
        claimed = jobs.claim(lease_ms=10_000)
        assert isinstance(claimed, Claimed)
        assert jobs.complete(claimed.job, claimed.token) == Completed(claimed.job)
    assert sorted(served_calls(wire)) == ["CLAIM", "COMPLETE"]


def test_a_server_without_the_module_does_not_start_with_its_commands_in_an_access_list(tmp_path: Path) -> None:
    lists = tmp_path / "users.acl"
    lists.write_text("user default on nopass ~* &* +@all\nuser app on nopass ~emq:{* +emq.claim\n", encoding="utf-8")

    with valkey_server("--aclfile", str(lists), "--loadmodule", module()):
        pass
    with pytest.raises(RuntimeError, match="ACL"), valkey_server("--aclfile", str(lists)):
        pass


async def test_a_worker_goes_on_while_the_module_is_taken_out_and_put_back(
    server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    ran: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def note(run: Run) -> None:
        ran.put_nowait(run.payload)

    off, unload = blocks("valkey-cli", "Take it out")
    (load,) = blocks("valkey-cli", "Upgrade it")
    async with EchoMQ(server.url) as app, serving(Worker(app, keys.queue, note, options=quick())):
        jobs = app.jobs(keys.queue)
        await jobs.enqueue(b"by the module")
        assert await ran.get() == b"by the module"
        assert "TAKE" in served_calls(wire)
        play(wire, off)
        await eventually(lambda: is_unloaded(wire, unload))
        await jobs.enqueue(b"by scripts")
        assert await ran.get() == b"by scripts"
        play(wire, load)
        await jobs.enqueue(b"by scripts still")
        assert await ran.get() == b"by scripts still"
    wire.ask("CONFIG", "RESETSTAT")
    async with EchoMQ(server.url) as app, serving(Worker(app, keys.queue, note, options=quick())):
        await app.jobs(keys.queue).enqueue(b"by the module again")
        assert await ran.get() == b"by the module again"
    assert {"ENQUEUE", "TAKE"} <= set(served_calls(wire))


async def is_unloaded(wire: Wire, block: str) -> bool:
    """Unload as the page says, unless somebody waits still, which it tells too."""
    reply = wire.ask("MODULE", "UNLOAD", "echomq")
    if isinstance(reply, ErrorReply):
        assert "the module has blocked clients" in reply.text
        return False
    assert block == "> MODULE UNLOAD echomq\nOK\n"
    return reply == b"OK"


@pytest.mark.parametrize("first", ["module", "script"])
def test_a_job_may_be_claimed_by_the_one_and_completed_by_the_other(
    server: RealServer, wire: Wire, keys: QueueKeys, first: str
) -> None:
    carriers: dict[str, NewCarrier] = {"module": ModuleCarrier, "script": LuaCarrier}
    options = ConnectionOptions(url=server.url)
    with (
        BlockingClient(options, new_carrier=carriers.pop(first)) as one,
        BlockingClient(options, new_carrier=carriers.popitem()[1]) as other,
    ):
        one.run(enqueue(keys, J1, b"x"))
        claimed = other.run(claim(keys, lease_ms=10_000))
        assert isinstance(claimed, Claimed)
        assert (wire.ask("HEXISTS", keys.job(J1), "claimed_at") == 1) == (first == "script")
        assert one.run(complete(keys, J1, claimed.token)) == Completed(J1)


def test_numbers_have_one_spelling_for_the_module_and_many_for_a_script(wire: Wire, keys: QueueKeys) -> None:
    named = [keys.pending, keys.active, keys.base]
    for text in ("1e3", " 7"):
        assert f"`{text}`" in PAGE
        assert wire.ask("EVAL", body_of(CLAIM).text, 3, *named, text) == []
        refused = wire.ask("EMQ.CLAIM", *named, text)
        assert isinstance(refused, ErrorReply)
        assert refused.text.startswith("ERR lease_ms must be a whole number")
    assert wire.ask("EMQ.CLAIM", *named, "1000") == wire.ask("EMQ.CLAIM", *named, "7") == []
