"""`echomq doctor` on real servers: with the module and without, and each thing that can be wrong with them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from echomq.carriers.module import COMMANDS
from echomq.cli.doctor import QUEUE, doctor
from echomq.cli.exits import Exit
from echomq.doctor.ask import examine
from echomq.doctor.finding import Finding, Level
from echomq.doctor.told import Place, Right
from echomq.drivers.address import parse_address
from echomq.drivers.blocking import BlockingClient
from echomq.embedded.module import module_path
from echomq.errors import InvalidName, InvalidOption
from echomq.options import ConnectionOptions
from tests.contract.test_rights import rights as documented
from tests.harness.wire import Wire
from tests.servers import RealServer, built_module, free_port, valkey_server
from tests.tls import make_certificates, tls_proxy
from tests.unit.cli.stage import Said

SECRET = "s3cr3t-and-no-one-elses"
ALL = len(COMMANDS)


class Report:
    """What a run said, by check."""

    def __init__(self, url: str | None, *, queue: str = QUEUE, environ: Mapping[str, str] | None = None) -> None:
        said = Said(is_json=True)
        self.code = doctor(url, environ or {}, queue, said.view)
        self.text = said.out.getvalue()
        self.data = said.data
        checks = self.data["checks"]
        assert isinstance(checks, list)
        self.found = {check["check"]: check for check in checks}

    def __getitem__(self, check: str) -> tuple[str, str]:
        found = self.found[check]
        return found["level"], found["says"]

    def todo(self, check: str) -> list[str]:
        todo: list[str] = self.found[check]["todo"]
        return todo

    @property
    def problems(self) -> list[str]:
        return [name for name, found in self.found.items() if found["level"] == "problem"]


@pytest.fixture
def user(real_server: RealServer) -> Iterator[str]:
    """The address of a user with exactly the documented rights."""
    with Wire(real_server.unix_path) as admin:
        words = [word if word != ">secret" else f">{SECRET}" for word in documented()[1:]]
        assert admin.ask("ACL", "SETUSER", "clerk", "reset", *words) == b"OK"
        yield f"unix://clerk:{SECRET}@{real_server.unix_path}"
        admin.ask("ACL", "DELUSER", "clerk")


def grant(server: RealServer, *words: str) -> None:
    with Wire(server.unix_path) as admin:
        assert admin.ask("ACL", "SETUSER", "clerk", *words) == b"OK"


def test_a_server_with_the_module(module_server: RealServer) -> None:
    report = Report(module_server.url)

    assert report["carrier"] == (
        "ok",
        f"Calls go by the module (version 1): {ALL} of its {ALL} commands can be used.",
    )
    assert report["blocking"] == ("ok", "Idle workers may wait in EMQ.TAKE (echomq.blocking yes).")
    assert report.found["carrier"]["facts"]["module_path"] == built_module()
    assert report["rights"] == ("ok", "The user default may do all that echomq needs.")
    assert report["version"] == ("ok", "The deployment is echomq:2.4.2, which this echomq accepts.")
    assert report["role"] == ("ok", "It is a primary with 0 replicas, and takes writes.")
    assert "module" not in report.found


def test_a_server_without_the_module(real_server: RealServer) -> None:
    report = Report(real_server.url)

    assert report["carrier"] == (
        "note",
        (
            "Calls go by scripts, since the server has no module of echomq. All works; each step costs it two to seven"
            " times as much of its time."
        ),
    )
    assert "blocking" not in report.found
    path = module_path()
    if path is not None:
        assert report["module"][1].startswith(f"The module of this installation is {path}, built for ")
        assert report.todo("module")[1:3] == [
            f"at each start, by a line in valkey.conf:  loadmodule {path}",
            "not without a restart, since MODULE LOAD is switched off there (enable-module-command is no)",
        ]


def test_blocking_that_is_switched_off(module_server: RealServer) -> None:
    with Wire(module_server.unix_path) as wire:
        assert wire.ask("CONFIG", "SET", "echomq.blocking", "no") == b"OK"
        try:
            report = Report(module_server.url)
        finally:
            wire.ask("CONFIG", "SET", "echomq.blocking", "yes")

    assert report["blocking"] == (
        "note",
        "Idle workers wait on the list `wake`, since blocking is switched off (echomq.blocking no).",
    )


def test_the_steps_it_tells_load_the_module() -> None:
    module = built_module()
    if module is None or module_path() is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--enable-module-command", "yes", persistent=True) as server:
        step = Report(server.url).todo("module")[2]
        command = re.fullmatch(r"at once, without a restart:  valkey-cli (MODULE LOAD) (.*)", step)
        assert command is not None
        with Wire(server.unix_path) as wire:
            assert wire.ask(*command[1].split(), command[2]) == b"OK"

        report = Report(server.url)
    assert report["carrier"][0] == "ok"
    assert (report.code, report.problems) == (Exit.DONE, [])


def test_a_user_with_the_documented_rights_is_told_what_could_not_be_seen(user: str) -> None:
    report = Report(user)

    assert report["rights"] == ("ok", "The user clerk may do all that echomq needs.")
    assert report["sight"] == (
        "note",
        (
            "clerk may not ask INFO and CONFIG GET, which echomq does not need: less is said here of memory,"
            " persistence, replicas, connections, snapshots, blocking and MODULE LOAD."
        ),
    )
    assert (report.code, report.problems) == (Exit.DONE, [])
    assert set(report.found).isdisjoint({"memory", "persistence", "clients", "notifications"})


def test_rights_that_are_missing(real_server: RealServer, user: str) -> None:
    grant(real_server, "-hset", "-zadd", "-blpop")

    report = Report(user)

    assert report["rights"] == (
        "problem",
        "clerk may not run hset and zadd, without which jobs cannot be added and run.",
    )
    assert report.todo("rights")[0] == "ACL SETUSER clerk +blpop +hset +zadd"
    assert report.code == Exit.FAILED
    grant(real_server, *report.todo("rights")[0].split()[3:])
    assert Report(user).code == Exit.DONE


def test_keys_and_channels_that_are_closed(real_server: RealServer, user: str) -> None:
    grant(real_server, "resetkeys", "~emq:{mail}:*", "~{emq}:*", "resetchannels")

    assert Report(user, queue="mail")["rights"] == (
        "note",
        (
            "clerk may not run publish on the channel of the queue mail: nobody hears of progress. clerk may not run"
            " subscribe on the channel of the queue mail: nobody can listen to progress."
        ),
    )
    other = Report(user, queue="news")
    assert other["rights"] == (
        "problem",
        "clerk may not write the keys of the queue news (--queue names another).",
    )
    assert other.todo("rights")[0] == "ACL SETUSER clerk ~emq:{* &emq:{* +publish +subscribe"


def test_a_user_who_may_not_run_scripts(real_server: RealServer, user: str) -> None:
    grant(real_server, "-eval")

    assert Report(user)["rights"] == (
        "problem",
        "clerk may not run eval, without which jobs cannot be added and run.",
    )


def test_a_user_who_may_not_run_some_commands_of_the_module(module_server: RealServer) -> None:
    own = [f"+emq.{name}" for name in COMMANDS if name not in ("claim", "take")]
    with Wire(module_server.unix_path) as admin:
        words = [*documented()[1:], *own]
        assert admin.ask("ACL", "SETUSER", "clerk", "reset", *words) == b"OK"
        report = Report(f"unix://clerk:secret@{module_server.unix_path}")
        assert report["carrier"] == (
            "note",
            (
                f"Calls go by the module (version 1): {ALL - 2} of its {ALL} commands can be used. clerk may not run"
                " EMQ.CLAIM and EMQ.TAKE; scripts do that."
            ),
        )
        assert report.todo("carrier") == ["ACL SETUSER clerk +emq.claim +emq.take"]
        assert admin.ask(*report.todo("carrier")[0].split()) == b"OK"
        assert Report(f"unix://clerk:secret@{module_server.unix_path}")["carrier"][0] == "ok"
        admin.ask("ACL", "DELUSER", "clerk")


def test_nothing_of_the_questions_is_logged_as_a_refusal_of_a_command_of_jobs(
    real_server: RealServer, user: str
) -> None:
    """Of rights the server is asked; only INFO and CONFIG GET, which are tried, leave a line."""
    grant(real_server, "-hset", "-zadd")
    with Wire(real_server.unix_path) as admin:
        admin.ask("ACL", "LOG", "RESET")
        Report(user)
        log = admin.ask("ACL", "LOG")
    assert isinstance(log, list)
    assert {entry[entry.index(b"object") + 1] for entry in log} == {b"info", b"config|get"}


def test_an_address_where_nobody_listens() -> None:
    port = free_port()

    report = Report(f"valkey://:{SECRET}@127.0.0.1:{port}")

    level, says = report["connection"]
    assert level == "problem"
    assert says.startswith(f"No connection: valkey://127.0.0.1:{port}/0 cannot be reached (")
    assert (report.code, list(report.found), report.data["ok"]) == (Exit.FAILED, ["connection"], False)
    assert SECRET not in report.text


def test_a_wrong_password(real_server: RealServer, user: str) -> None:
    report = Report(user.replace(SECRET, "wr0ng-guess"))

    level, says = report["connection"]
    assert level == "problem"
    assert says.startswith(
        f"No connection to unix://clerk@{real_server.unix_path}: the server refused the user name or password"
        " (WRONGPASS "
    )
    assert (report.code, "wr0ng-guess" in report.text) == (Exit.FAILED, False)


def test_a_password_is_never_shown(real_server: RealServer, user: str) -> None:
    for setting in ("requirepass", "primaryauth"):
        with Wire(real_server.unix_path) as admin:
            admin.ask("CONFIG", "SET", setting, "")
    grant(real_server, "allcommands")

    said = Said()
    doctor(user, {}, QUEUE, said.view)

    assert SECRET not in said.out.getvalue() + said.talk
    assert SECRET not in Report(user).text


@pytest.mark.parametrize("url", ["https://x", "valkey://h:notaport"])
def test_an_address_that_cannot_be_is_refused_like_by_every_command(url: str) -> None:
    with pytest.raises(InvalidOption):
        doctor(url, {}, QUEUE, Said().view)


def test_a_queue_that_cannot_be_is_refused_like_by_every_command(real_server: RealServer) -> None:
    with pytest.raises(InvalidName):
        doctor(real_server.url, {}, "no queue", Said().view)


def test_settings_that_lose_jobs() -> None:
    with valkey_server("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server:
        report = Report(server.url)
        assert report["memory"] == (
            "problem",
            "A full server throws away jobs, lanes and leases without an error (maxmemory-policy allkeys-lru).",
        )
        assert report["persistence"] == (
            "problem",
            "The server keeps nothing on disk: after a restart all queues are empty (appendonly no, save '').",
        )
        assert (report.problems, report.code) == (["memory", "persistence"], Exit.FAILED)
        with Wire(server.unix_path) as wire:
            for name in report.problems:
                assert wire.ask(*report.todo(name)[0].partition(",")[0].split()) == b"OK"
        assert Report(server.url).problems == []


def test_a_full_server() -> None:
    with valkey_server(persistent=True) as server:
        Report(server.url)  # so that the deployment has its version
        with Wire(server.unix_path) as wire:
            assert wire.ask("CONFIG", "SET", "maxmemory", 100_000) == b"OK"
        level, says = Report(server.url)["memory"]
    assert level == "problem"
    assert re.fullmatch(
        r"The server is full: [\d,]+ of 100,000 bytes are used. New jobs are refused with ServerFull.", says
    )


def test_a_replica(real_server: RealServer) -> None:
    with valkey_server(persistent=True) as replica, Wire(replica.unix_path) as wire:
        wire.ask("SET", "{emq}:version", "echomq:2.4.2")
        nobody = free_port()
        assert wire.ask("REPLICAOF", "127.0.0.1", nobody) == b"OK"
        report = Report(replica.url)

    assert report["role"] == (
        "problem",
        "It is a replica, which takes no writes: jobs can neither be added nor run here.",
    )
    assert report.todo("role") == [f"give the address of its primary (127.0.0.1:{nobody})"]
    assert report.problems == ["role"]


def test_a_replica_of_a_deployment_without_a_version() -> None:
    with valkey_server(persistent=True) as replica, Wire(replica.unix_path) as wire:
        wire.ask("REPLICAOF", "127.0.0.1", free_port())
        report = Report(replica.url)

    assert report["version"] == (
        "note",
        "The deployment has no version yet, and none could be written here: whoever may write first sets it.",
    )


def test_a_deployment_of_another_version_is_looked_at_all_the_same() -> None:
    with valkey_server(persistent=True) as server:
        with Wire(server.unix_path) as wire:
            wire.ask("SET", "{emq}:version", "echomq:9.0.0")
        report = Report(server.url)

    assert report["version"] == (
        "problem",
        (
            "The deployment says 'echomq:9.0.0' in {emq}:version, and this echomq accepts echomq:2.*: its programs are"
            " refused here."
        ),
    )
    assert report.problems == ["version"]
    assert report["rights"][0] == "ok"


def test_a_node_of_a_cluster() -> None:
    port, bus = free_port(), free_port()
    with valkey_server("--cluster-enabled", "yes", "--cluster-port", str(bus), tcp=True, persistent=True) as server:
        with Wire(server.unix_path) as wire:
            assert wire.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383) == b"OK"
            while b"cluster_state:ok" not in bytes_of(wire.ask("CLUSTER", "INFO")):
                assert server.pid  # it has no other signal than its state
        report = Report(server.url)
    assert port
    assert report["cluster"] == ("note", "It is a cluster of one node, which serves all queues.")


def bytes_of(reply: object) -> bytes:
    assert isinstance(reply, bytes)
    return reply


def test_a_certificate_that_nobody_checks(real_server: RealServer, tmp_path: Path) -> None:
    with tls_proxy(real_server.unix_path, make_certificates(tmp_path)) as port:
        report = Report(f"valkeys://127.0.0.1:{port}?verify=none")
        unknown = Report(f"valkeys://127.0.0.1:{port}")

    level, says = report["connection"]
    assert level == "note"
    assert says.startswith(f"valkeys://127.0.0.1:{port}/0 answers over TLS, and a round trip takes ")
    assert says.endswith(" Its certificate is not checked, so whoever stands between can read and change everything.")
    assert "cannot be reached over TLS (" in unknown["connection"][1]


def test_a_clock_that_is_off_is_measured(real_server: RealServer) -> None:
    place = Place(name="here", address=parse_address(real_server.url))
    with BlockingClient(ConnectionOptions(url=real_server.url)) as client:
        told = examine(client, place, queue=QUEUE, now_s=lambda: 0.0)

    assert told.clock_ahead_ms is not None
    assert told.clock_ahead_ms > 1_600_000_000_000


@pytest.mark.parametrize("resp", [2, 3])
def test_both_protocols_tell_the_same(module_server: RealServer, resp: int) -> None:
    place = Place(name="here", address=parse_address(module_server.url))
    with BlockingClient(ConnectionOptions(url=module_server.url, resp=resp)) as client:
        told = examine(client, place, queue=QUEUE)

    assert told.resp == resp
    assert told.loaded is not None
    assert (told.loaded.version, told.loaded.path) == (1, built_module())
    assert told.info["role"] == told.hello["role"] == "master"
    assert told.config["echomq.blocking"] == "yes"
    assert set(told.rights.commands.values()) <= {Right.GRANTED, Right.ABSENT}
    assert told.refused == ()


def test_a_server_that_cannot_be_asked_for_rights_is_told_as_that(real_server: RealServer) -> None:
    """One that is older than 7.0 answers the script with nothing."""

    class Old:
        def command(self, *parts: bytes | str | int) -> object:
            return [] if parts[0] == "EVAL" else None

    told = examine(Old(), Place(name="old", address=parse_address(real_server.url)), queue=QUEUE)

    assert (told.rights.commands, told.rights.keys) == ({}, Right.UNKNOWN)
    assert told.clock_ahead_ms is None


def test_for_people_each_finding_is_a_line_and_each_thing_to_do_another(real_server: RealServer) -> None:
    said = Said()

    code = doctor(real_server.url, {}, QUEUE, said.view)

    lines = said.out.getvalue().splitlines()
    heads = [line.split()[:2] for line in lines if not line.startswith(" ")]
    assert heads[0] == ["ok", "connection"]
    assert ["problem", "persistence"] in heads
    todo = lines[lines.index(next(line for line in lines if line.startswith("problem"))) + 1]
    assert todo.strip() == "- CONFIG SET appendonly yes, and the same in valkey.conf"
    assert todo.index("-") == lines[0].index(real_server.url)
    assert re.fullmatch(r"echomq: 1 problem, \d notes?\n", said.talk)
    assert code == Exit.FAILED


def test_on_a_terminal_sentences_are_folded_and_commands_are_not(real_server: RealServer) -> None:
    said = Said()

    doctor(real_server.url, {}, QUEUE, replace(said.view, columns=70))

    lines = said.out.getvalue().splitlines()
    assert all(len(line) <= 70 for line in lines if "- " not in line)
    assert any(len(line) > 70 for line in lines if "- " in line)
    assert any(line.startswith(" ") and "- " not in line for line in lines)


def test_the_json_has_all_of_it(real_server: RealServer) -> None:
    report = Report(real_server.url)

    assert list(report.data) == ["ok", "server", "problems", "notes", "checks"]
    assert (report.data["server"], report.data["problems"]) == (real_server.url, len(report.problems))
    fields = ("check", "level", "says", "todo", "facts")
    assert all(tuple(found) == fields for found in report.found.values())
    assert {found["level"] for found in report.found.values()} <= set(Level)
    assert set(Finding.__dataclass_fields__) == set(fields)


def test_without_an_address_it_looks_at_the_embedded_server(tmp_path: Path) -> None:
    report = Report(None, environ={"ECHOMQ_HOME": str(tmp_path)})

    level, says = report["connection"]
    assert level == "ok"
    assert says.startswith(f"The embedded server in {tmp_path} answers on its unix socket, and a round trip takes ")
    assert report.problems == []
    assert report.code == Exit.DONE
