from pathlib import Path

from echomq.embedded.paths import Layout
from echomq.embedded.settings import Listen, server_arguments


def option(arguments: list[str], name: str) -> list[str]:
    start = arguments.index(f"--{name}") + 1
    values: list[str] = []
    for word in arguments[start:]:
        if word.startswith("--"):
            break
        values.append(word)
    return values


def arguments_of(listen: Listen) -> list[str]:
    return list(server_arguments(Path("/bin/server"), Layout.of_home(Path("/h o/m")), listen))


def test_no_port_is_open_and_nothing_is_evicted() -> None:
    arguments = arguments_of(Listen())
    assert arguments[0] == "/bin/server"
    assert option(arguments, "port") == ["0"]
    assert option(arguments, "maxmemory") == ["0"]
    assert option(arguments, "unixsocket") == ["/h o/m/valkey.sock"]
    assert option(arguments, "unixsocketperm") == ["700"]


def test_every_write_goes_to_the_append_only_file() -> None:
    arguments = arguments_of(Listen())
    assert option(arguments, "appendonly") == ["yes"]
    assert option(arguments, "appendfsync") == ["everysec"]
    assert option(arguments, "aof-load-truncated") == ["yes"]
    assert option(arguments, "save") == [""]


def test_modules_are_loaded_in_their_order() -> None:
    arguments = arguments_of(Listen(modules=(Path("/a.so"), Path("/b.so"))))
    assert arguments[-4:] == ["--loadmodule", "/a.so", "--loadmodule", "/b.so"]


def test_a_port_listens_where_it_is_told() -> None:
    arguments = arguments_of(Listen(port=7000, bind=("10.0.0.1", "::1"), protected=False))
    assert option(arguments, "port") == ["7000"]
    assert option(arguments, "bind") == ["10.0.0.1", "::1"]
    assert option(arguments, "protected-mode") == ["no"]
